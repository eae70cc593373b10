import ChildProcesses
import Foundation
import TestSupport
import Testing

extension EndToEnd {
    struct HostedPageTests {
        private static func files(_ app: String, api: String, origins: String) -> [String: String] {
            [
                "realm_config.json": """
                {"config_version": 20210101, "app_id": "\(app)", "name": "\(app)", "allowed_request_origins": [\(origins)]}
                """,
                "auth/providers.json":
                    #"{"anon-user": {"name": "anon-user", "type": "anon-user", "disabled": false}}"#,
                "functions/config.json": #"[{"name": "greet", "private": false}]"#,
                "functions/greet.js": "exports = name => `hello ${name}`;",
                "hosting/config.json":
                    #"{"enabled": true, "default_error_path": "/index.html", "default_response_code": 200}"#,
                "hosting/files/index.html": """
                <!doctype html><html><head><title>\(app)</title><link rel="stylesheet" href="/style.css"></head>
                <body><p id="state">starting</p><script type="module" src="/js/app.js"></script></body></html>
                """,
                "hosting/files/style.css": "p { color: rgb(1, 2, 3); }\n",
                // Signs in and calls a function, as an app's page does, and stores the token, as the SDK does.
                "hosting/files/js/app.js": """
                const root = "\(api)/api/client/v2.0/app/\(app)";
                const call = async (path, body, token) => {
                    const answer = await fetch(root + path, {method: "POST", body: JSON.stringify(body),
                        headers: {"Content-Type": "application/json", ...(token ? {Authorization: `Bearer ${token}`} : {})}});
                    return [answer.status, await answer.json()];
                };
                const show = text => document.querySelector("#state").innerText = text;
                const run = async () => {
                    const [, session] = await call("/auth/providers/anon-user/login", {});
                    localStorage.token = session.access_token;
                    for (let tries = 0; tries < 50; tries++) {
                        const [status, text] = await call("/functions/call", {name: "greet", arguments: ["page"]}, session.access_token);
                        if (status === 200) return show(text + " at " + location.pathname);
                        await new Promise(done => setTimeout(done, 200));
                    }
                    show("no answer");
                };
                run().catch(error => show(String(error)));
                """,
            ]
        }

        @Test func `a hosted page works in a browser, and no other app's page sees what it stores`() async throws {
            let system = try await RunningSystem.shared()
            let port = system.basePort + RunningSystem.services.count
            // Its own pages may call even where the app lists other origins.
            let output = try await TestApp.deploy(
                "hosted-one",
                Self.files("hosted-one", api: system.publicURL, origins: #""https://elsewhere.example""#), on: system)
            #expect(output.contains("at http://hosted-one.localhost:\(port)"), "\(output)")
            _ = try await TestApp.deploy(
                "hosted-two", Self.files("hosted-two", api: system.publicURL, origins: ""), on: system)
            let first = "http://hosted-one.localhost:\(port)", second = "http://hosted-two.localhost:\(port)"
            let browser = try await Browser.open(url: first + "/orders/17", on: system)
            defer { browser.close() }
            let state = "document.querySelector('#state')?.innerText"
            try await browser.wait(
                "the page has signed in and called a function", within: .seconds(40),
                for: "\(state) === 'hello page at /orders/17'")
            #expect(try await browser.evaluate("getComputedStyle(document.querySelector('p')).color") == "rgb(1, 2, 3)")
            #expect(try await browser.evaluate("Boolean(localStorage.token)") == "1")
            try await browser.screenshot("hosted")
            // No file of the app can be read at the address of the services, and no service at the app's.
            #expect(
                try await HTTPCaller(root: system.publicURL, system: system).get("/hosted/index.html").status == 404)
            let page = try await browser.evaluate("fetch('/api/admin/v1/apps').then(answer => answer.text())")
            #expect(page.contains("<!doctype html>"))
            for path in ["/metrics", "/health/ready", "/v1/apps/rchat/media/a/b/c/d"] {
                #expect(
                    try await browser.evaluate("fetch('\(path)').then(answer => answer.text())").contains("<!doctype"))
            }
            // Another app's page has nothing of this one's, and can't ask for its files as its user.
            try await browser.navigate(to: second + "/js/app.js")
            try await browser.wait("the other app's file is shown", for: "location.origin === '\(second)'")
            #expect(try await browser.evaluate("String(localStorage.token)") == "undefined")
            let stolen = try await browser.evaluate(
                "fetch('\(first)/', {credentials: 'include'}).then(() => 'read', () => 'refused')")
            #expect(stolen == "refused")
        }

        @Test(arguments: [
            ("/../../etc/passwd", ["400"]), ("/%2e%2e/%2e%2e/etc/passwd", ["400"]),
            ("/..%2f..%2fconfig.json", ["200", "400"]),
            ("/js%2fapp.js", ["200"]), ("/%ff", ["400"]), ("//js/app.js", ["200"]), ("/js/app.js", ["200"]),
            ("/JS/app.js", ["200"]),
        ])
        func `paths reach the service as they are, and lead nowhere else`(
            _ path: String, _ statuses: [String]
        ) async throws {
            let system = try await RunningSystem.shared()
            _ = try await TestApp.deploy(
                "hosted-odd", Self.files("hosted-odd", api: system.publicURL, origins: ""), on: system)
            let answer = try await eventually("the app is known", within: patience) {
                let script = """
                    import socket, sys
                    connection = socket.create_connection(("127.0.0.1", int(sys.argv[1])), 10)
                    connection.sendall(("GET %s HTTP/1.1\\r\\nHost: hosted-odd.localhost\\r\\nConnection: close\\r\\n\\r\\n" % sys.argv[2]).encode())
                    while part := connection.recv(65536): sys.stdout.buffer.write(part)
                    """
                let port = system.basePort + RunningSystem.services.count
                let answer = try await CapturedRun.run("python3", ["-c", script, "\(port)", path]).output
                return answer.contains("no app has pages") ? nil : answer
            }
            #expect(statuses.contains(String(answer.dropFirst(9).prefix(3))), "\(answer)")
            // Everything but the file itself is the app's page, or an error.
            #expect(answer.contains("const root") == (path == "/js/app.js"), "\(answer)")
            #expect(!answer.contains("root:") && !answer.contains("default_error_path"))
        }
    }
}
