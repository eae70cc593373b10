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
                try await page.wait("the page is there", for: "document.querySelector('#sign-in')")
                try await page.evaluate(Self.countingSockets)
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
            // Each has three partitions open. The gateway may have ended a session meanwhile, and a new one followed.
            for page in pages { #expect(try await page.evaluate("window.mostSockets") == "1") }

            // An operator ends Bob's session, and Ann ends hers.
            let ended = try await CapturedRun.run(
                CurrentEnvironment.sibling("partita"),
                ["users", "sign-out", names[1], "--app", "rchat-page", "--data", system.directory])
            #expect(ended.status.isSuccess, "\(ended.output)")
            try await pages[1].wait(
                "Bob is told", for: "document.querySelector('#problem').innerText.includes('signed out')")
            try await pages[0].evaluate("document.querySelector('#sign-out').click()")
            for page in pages {
                try await page.wait(
                    "nothing is left",
                    for: "document.querySelector('#sign-in') && document.querySelector('#page').hidden")
            }
            try await Self.refuseForeignLinks(pages[0])
            for page in pages { page.close() }
        }

        /// Counts how many sockets a page has at once.
        private static let countingSockets = """
            { let open = 0;
              window.mostSockets = 0;
              window.WebSocket = class extends WebSocket {
                constructor(...all) {
                  super(...all);
                  window.mostSockets = Math.max(window.mostSockets, ++open);
                  this.addEventListener("close", () => open--);
                }
              }; }
            """

        /// A document may have any link: one that leads elsewhere mustn't get the access token.
        private static func refuseForeignLinks(_ page: Browser) async throws {
            let refusal = { (url: String) in
                try await page.evaluate(
                    """
                    import("../../web/partita.js").then(({ App, Session }) => {
                      const token = `a.${btoa(JSON.stringify({ exp: 9e9 }))}.c`;
                      const session = new Session(new App(location.origin, "rchat"), { access_token: token });
                      return session.link("\(url)").catch((error) => error.message);
                    })
                    """)
            }
            for url in [
                "http://elsewhere.example/x.png", "javascript:alert(1)", "//elsewhere.example/x", "data:text/html,x",
                "/app/evil/endpoint/steal", "/v1/apps/evil/media/x",
                "/v1/apps/rchat/media/../../../../app/evil/endpoint/x",
                "//elsewhere.example/v1/apps/rchat/media/x",
            ] {
                #expect(try await refusal(url) == "this link doesn't lead to a file of the app", "\(url)")
            }
            #expect(try await refusal("/v1/apps/rchat/media/x#y").contains("/v1/apps/rchat/media/x?baas_at=a."))
            let port = try await page.evaluate("location.port")
            try await page.navigate(to: "http://127.0.0.1:\(port)/rchat/web/?server=http://elsewhere.example")
            try await page.wait(
                "another server is refused",
                for: "document.querySelector('#problem').innerText.includes('server has to be on 127.0.0.1')")
            // It would send the password there.
            let other = "..%2F..%2F..%2F..%2Fapp%2Fevil%2Fendpoint%2Fsteal%3Fx%3D"
            try await page.navigate(
                to: "http://127.0.0.1:\(port)/rchat/web/?server=http://127.0.0.1:\(port)&app=\(other)")
            try await page.wait(
                "what is no app's id is refused",
                for: "document.querySelector('#problem').innerText.includes('is no app')")
            #expect(try await page.evaluate("String(document.querySelector('#sign-in'))") == "null")
        }
    }
}
