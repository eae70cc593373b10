import ChildProcesses
import Foundation
import TestSupport
import Testing

extension EndToEnd {
    struct ChatPageTests {
        /// On a copy of the app that allows pages of any address: the test's has no fixed port.
        @Test func `two people talk with each other on the page of rchat`() async throws {
            let system = try await RunningSystem.shared()
            let copy = try TestApp.broken("realm_config.json", in: system) {
                $0.replacing("\"http://localhost:3000\",", with: "").replacing("\"http://127.0.0.1:3000\"", with: "")
            }
            let run = try await CapturedRun.run(
                CurrentEnvironment.sibling("partita"),
                ["app", "deploy", copy, "--app-id", "rchat-page", "--data", system.directory])
            #expect(run.status.isSuccess, "\(run.output)")
            // The epoch's number is a large one then, as after a restore.
            _ = try await system.query("select partita.serve_anew('rchat-page', null)")
            let names = ["ann", "bob"].map { "\($0)-\(UUID().uuidString.prefix(8).lowercased())@example.com" }
            var pages: [Browser] = []
            for name in names {
                let page = try await Browser.open("rchat/web/", app: "rchat-page", on: system)
                try await page.register(name)
                pages.append(page)
            }
            let other = "document.querySelector('[data-user=\"\(names[1])\"]')"
            try await pages[0].wait("the other is there", for: other)
            try await pages[0].wait("and online", for: "\(other).querySelector('.green')")
            try await pages[0].evaluate("\(other).querySelector('button').click()")
            for page in pages {
                try await page.wait("the conversation is there", for: "document.querySelector('#conversations button')")
                try await page.evaluate("document.querySelector('#conversations button').click()")
                try await page.wait("it is open", for: "document.querySelector('#state').innerText === 'live'")
            }
            for (index, text) in ["Hello Bob", "Hello Ann"].enumerated() {
                try await pages[index].evaluate(
                    "{ const form = document.querySelector('#send'); form.text.value = '\(text)'; form.requestSubmit(); }"
                )
                for page in pages {
                    try await page.wait(
                        "“\(text)” is shown", for: "document.querySelector('#messages').innerText.includes('\(text)')")
                }
            }
            try await pages[0].screenshot("rchat")
            for page in pages { page.close() }
        }
    }
}
