import ChildProcesses
import DocumentModel
import Foundation
import PartitaClient
import TestSupport
import Testing

extension EndToEnd {
    /// The page of `ofish`, in a browser.
    struct OFishTests {
        @Test func `the page shows reports as officers write them, finds their words, and loses what it may not read`()
            async throws
        {
            let system = try await RunningSystem.shared()
            let agency = "Galapagos Marine Reserve"
            try await AppUse.addSample("ofish", on: system)
            let otto = try await AppUser.signIn("otto@ofish.example", to: "ofish", on: system)
            let ottos = try await otto.session.openPartition(.string(agency), waitForFirstSync: true)
            let id = ObjectId()

            let page = try await Browser.open("ofish/web/", on: system)
            try await page.signIn("gala@ofish.example")
            try await page.wait(
                "the sample's reports are there", for: "document.querySelectorAll('#reports li').length >= 11")
            try await page.wait("a photo is shown", for: "document.querySelector('#reports img.photo')?.complete")
            try await ottos.write {
                $0.insert(
                    "BoardingReports",
                    [
                        "_id": .objectId(id), "agency": .string(agency), "timestamp": .date(WallClock.system.now()),
                        // Only ever text: a page that took it for markup would run it.
                        "vessel": ["name": "<img src=x onerror=\"document.title='run'\">"], "risk": ["level": "red"],
                    ])
            }
            let row = "document.querySelector('[data-id=\"\(id.hexString)\"]')"
            try await page.wait("the new report is shown", for: "\(row)?.innerText.includes('onerror')")
            #expect(try await page.evaluate("document.title") == "O-FISH")
            try await page.wait(
                "the figures follow", for: "document.querySelector('#totals').innerText.includes('boardings')")

            try await page.evaluate(
                "{ const form = document.querySelector('#search'); form.query.value = 'shark'; form.requestSubmit(); }")
            try await page.wait(
                "the words found are marked",
                for: "document.querySelector('#found mark')?.innerText.toLowerCase() === 'shark'")

            try await ottos.write { $0.delete("BoardingReports", id: .objectId(id)) }
            try await page.wait("the deleted report is gone", for: "!\(row)")
            try await page.screenshot("ofish")
            try await otto.close()
            page.close()
        }

        /// The token has the custom data of its time.
        @Test func `a member who is dismissed reads nothing more, with the same token`() async throws {
            let system = try await RunningSystem.shared()
            let agency = "Galapagos Marine Reserve"
            try await AppUse.addSample("ofish", on: system)
            let gala = try await AppUser.signIn("gala@ofish.example", to: "ofish", on: system)
            func setMember(isActive: Bool) async throws {
                _ = try await gala.session.callFunction(
                    "setMember",
                    ["email": "otto@ofish.example", "agency": .string(agency), "isActive": .bool(isActive)])
            }
            let caller = HTTPCaller(root: system.publicURL, system: system)
            let login = try await caller.post(
                "/api/client/v2.0/app/ofish/auth/providers/local-userpass/login",
                #"{"username": "otto@ofish.example", "password": "\#(TestDevice.password)"}"#)
            let token = try #require(try ExtendedJSON.parseDocument(login.body)["access_token"]?.stringValue)
            func count() async throws -> Int? {
                let answer = try await caller.post(
                    "/api/client/v2.0/app/ofish/functions/call",
                    #"{"service": "mongodb-atlas", "name": "find", "arguments": [{"database": "ofish", "collection": "MenuData", "query": {}}]}"#,
                    token: token)
                return try ExtendedJSON.parse(answer.body).arrayValue?.count
            }
            #expect(try await count() == 1)
            try await setMember(isActive: false)
            #expect(try await count() == 0)
            let refused = try await caller.post(
                "/api/client/v2.0/app/ofish/functions/call", #"{"name": "listReports", "arguments": []}"#, token: token)
            #expect(refused.status == 400 && refused.text.contains("isn't active"))
            try await setMember(isActive: true)
            #expect(try await count() == 1)
            try await gala.close()
        }
    }
}
