import DocumentModel
import Foundation
import PartitaClient
import TestSupport
import Testing

extension EndToEnd {
    struct FindOurDevicesTests {
        private static let group = "0000dad20000000000000001"

        /// The page as Ida sees it, while Jon moves, is removed and comes back.
        @Test func `the page's map follows a member's device, and a removed member is gone from it within a second`()
            async throws
        {
            let system = try await RunningSystem.shared()
            try await AppUse.addSample("findourdevices", on: system)
            let jon = try await AppUser.signIn("jon@find.example", to: "findourdevices", on: system)
            let devices = try await jon.session.openPartition(
                .string("device=\(jon.session.userId)"), waitForFirstSync: true)
            let tablet = try #require(try await devices.find("Device").first?["_id"]),
                hex = tablet.objectIdValue?.hexString ?? ""
            let page = try await Browser.open("findourdevices/web/", on: system)
            try await page.signIn("ida@find.example")
            let circle = "document.querySelector('circle[data-device=\"\(hex)\"]')"
            try await page.wait("Jon's tablet is on the map", for: circle)
            for longitude in [13.30, 13.35, 13.40] {
                try await devices.write {
                    $0.update(
                        "Device", id: tablet,
                        ["$set": ["location": ["longitude": .double(longitude), "latitude": 52.5, "at": .date(0)]]])
                }
                let x = 360 * (longitude - 13.2) / 0.4
                try await page.wait(
                    "it is at \(longitude)", for: "Math.abs(\(circle).getAttribute('cx') - \(x)) < 0.01")
            }
            // Ida's own phone, moved with the page's button.
            let moved = "document.querySelector('#devices li').innerText.includes('13.4')"
            try await page.wait("Ida's phone is listed", for: moved)
            let before = try await page.evaluate("document.querySelector('#devices li').innerText")
            try await page.evaluate(
                "[...document.querySelectorAll('#devices button')].find((button) => button.innerText === '→').click()")
            try await page.wait(
                "Ida's phone has moved", for: "document.querySelector('#devices li').innerText !== `\(before)`")
            try await page.screenshot("findourdevices")

            let row = "document.querySelector('[data-user=\"\(jon.session.userId)\"]')"
            let start = ContinuousClock.now
            try await page.evaluate(
                "[...\(row).querySelectorAll('button')].find((button) => button.innerText === 'Remove').click()")
            try await page.wait("Jon is gone from the map", for: "!\(circle) && !\(row)")
            let taken = ContinuousClock.now - start
            print("a removed member was gone from the map after \(taken.formatted(.units(allowed: [.milliseconds])))")
            #expect(taken < .seconds(1))

            let ida = try await AppUser.signIn("ida@find.example", to: "findourdevices", on: system)
            _ = try await ida.session.callFunction(
                "invite", ["group": .string(Self.group), "email": "jon@find.example"])
            _ = try await jon.session.callFunction(
                "answerInvitation", ["group": .string(Self.group), "isAccepted": true])
            try await page.wait("Jon is back on the map", for: circle)
            try await jon.close()
            try await ida.close()
            page.close()
        }
    }
}
