import ChildProcesses
import EventLoop
import Foundation
import HTTPClient
import LocalEngines
import TestSupport
import WebSocket

/// A headless Chromium with one page of `Deploy/apps`, driven by the DevTools protocol.
final class Browser: Sendable {
    private struct State {
        var next = 0
        var answers: [Int: String] = [:]
    }

    // Unchecked: the socket is used on its loop only.
    private struct Socket: @unchecked Sendable { let socket: WebSocket }

    private let system: RunningSystem
    private let processes: [ChildProcess]
    private let socket: Socket
    private let state: Locked<State>

    private init(
        _ system: RunningSystem, _ processes: [ChildProcess], _ socket: Socket, _ state: Locked<State>
    ) {
        self.system = system
        self.processes = processes
        self.socket = socket
        self.state = state
    }

    /// Opens a page, as its README says: from a plain file server, with the address of Partita as its parameter.
    /// - Parameters:
    ///   - page: the page's path under `Deploy/apps`.
    ///   - app: the app's id, if it is deployed under another one.
    static func open(_ page: String, app: String? = nil, on system: RunningSystem) async throws -> Browser {
        let port = try LocalPort.free(1)
        let apps = TestApp.rchat + "/.."
        let files = try ChildProcess.spawn(
            "python3", ["-m", "http.server", "\(port)", "--bind", "127.0.0.1", "--directory", apps],
            environment: CurrentEnvironment.variables, output: .file(system.directory + "/logs/pages.log"))
        SystemAtExit.remember(files)
        return try await open(
            url: "http://127.0.0.1:\(port)/\(page)?server=\(system.publicURL)" + (app.map { "&app=\($0)" } ?? ""),
            beside: [files], on: system)
    }

    /// Opens a page by its address.
    /// - Parameter others: processes that end with the browser.
    static func open(
        url: String, beside others: [ChildProcess] = [], on system: RunningSystem
    ) async throws -> Browser {
        let debugging = try LocalPort.free(1)
        let chromium = try ChildProcess.spawn(
            try executable(),
            [
                "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--window-size=1280,900",
                "--remote-debugging-port=\(debugging)", "--user-data-dir=\(system.directory)/browser-\(debugging)",
                "about:blank",
            ], output: .file(system.directory + "/logs/browser.log"))
        SystemAtExit.remember(chromium)
        let address = try await eventually("Chromium listens", within: patience) {
            try await target(at: debugging, on: system)
        }
        let state = Locked(State())
        var configuration = WebSocketConfiguration()
        configuration.maxMessageBytes = 64 << 20
        configuration.allowsCompression = false
        configuration.pingInterval = nil
        let socket = try await WebSocketClient.connect(address, configuration: configuration, on: system.loop) {
            socket in
            socket.onMessage = { _, bytes in
                let text = String(decoding: bytes, as: UTF8.self)
                // Events have no id.
                guard let id = try? Self.object(text)["id"] as? Int else { return }
                state.withLock { $0.answers[id] = text }
            }
        }
        let browser = Browser(system, [chromium] + others, Socket(socket: socket), state)
        try await browser.navigate(to: url)
        return browser
    }

    /// Leads to another page.
    func navigate(to url: String) async throws {
        try await eventually("the page is served", within: patience) {
            try await command("Page.navigate", ["url": url])["errorText"] == nil
        }
    }

    /// `PARTITA_BROWSER`, or what Debian's packages install: the program itself, since the script in `/usr/bin` that starts it
    /// would be killed in its place.
    private static func executable() throws -> String {
        let places = ["/usr/lib/chromium/chromium-headless-shell", "/usr/lib/chromium/chromium"]
        if let given = CurrentEnvironment.variables["PARTITA_BROWSER"] { return given }
        guard let found = places.first(where: { FileManager.default.isExecutableFile(atPath: $0) }) else {
            throw SystemFailure(
                description:
                    "no browser: Deploy/test installs chromium-headless-shell, or PARTITA_BROWSER names a Chromium")
        }
        return found
    }

    /// The address of the only page; `nil` while the browser doesn't listen.
    private static func target(at port: Int, on system: RunningSystem) async throws -> String? {
        let http = HTTPClient(loop: system.loop)
        let answer = try? await http.send(.init(method: "GET", url: "http://127.0.0.1:\(port)/json/list"))
        await http.shutDown()
        guard let answer, let targets = try JSONSerialization.jsonObject(with: Data(answer.body)) as? [[String: Any]]
        else { return nil }
        return targets.first { $0["type"] as? String == "page" }?["webSocketDebuggerUrl"] as? String
    }

    private static func object(_ text: String) throws -> [String: Any] {
        try JSONSerialization.jsonObject(with: Data(text.utf8)) as? [String: Any] ?? [:]
    }

    func close() {
        let socket = socket
        system.loop.execute { socket.socket.terminate() }
        for process in processes { process.signal(SIGKILL) }
    }

    // MARK: The page

    /// The value of an expression, as JSON's text forms it.
    @discardableResult
    func evaluate(_ expression: String) async throws -> String {
        let answer = try await command(
            "Runtime.evaluate", ["expression": expression, "awaitPromise": true, "returnByValue": true])
        if let exception = answer["exceptionDetails"] as? [String: Any] {
            throw SystemFailure(description: "\(expression): \(exception)")
        }
        let value = (answer["result"] as? [String: Any])?["value"]
        return value.map { "\($0)" } ?? ""
    }

    /// Waits until a condition holds on the page.
    ///
    /// A condition that throws doesn't hold yet: a page builds its parts again while it connects, so that what it reads may be
    /// missing for a moment. What it throws in the end is named.
    func wait(_ what: String, within limit: Duration = .seconds(20), for condition: String) async throws {
        let test = "(() => { try { return Boolean(\(condition)) } catch (error) { return String(error) } })()"
        let last = Locked("")
        do {
            try await eventually("\(what): \(condition)", within: limit) {
                let answer = try await evaluate(test)
                last.withLock { $0 = answer }
                return answer == "1"
            }
        } catch {
            throw SystemFailure(
                description:
                    "\(error)\n\(last.withLock { $0 })\n\(try await evaluate("document.body.innerText"))\n\(system.logEnds(lines: 3))"
            )
        }
    }

    /// Signs in by the form of the header.
    func signIn(_ email: String) async throws { try await enter(email, by: "form.requestSubmit()") }

    /// Registers by the form of the header.
    func register(_ email: String) async throws {
        try await enter(email, by: "form.querySelector('button.quiet').click()")
    }

    private func enter(_ email: String, by action: String) async throws {
        try await wait("the form is there", for: "document.querySelector('#sign-in')")
        try await evaluate(
            """
            { const form = document.querySelector('#sign-in');
              form.email.value = '\(email)'; form.password.value = '\(TestDevice.password)'; \(action); }
            """)
        try await wait("\(email) is signed in", for: "document.querySelector('#who')")
    }

    /// Saves what the page shows in the folder that `PARTITA_SCREENSHOTS` names, if it does.
    func screenshot(_ name: String) async throws {
        guard let folder = CurrentEnvironment.variables["PARTITA_SCREENSHOTS"] else { return }
        let answer = try await command("Page.captureScreenshot", ["format": "png"])
        let data = (answer["data"] as? String).flatMap { Data(base64Encoded: $0) }
        try (data ?? Data()).write(to: URL(fileURLWithPath: "\(folder)/\(name).png"))
    }

    private func command(_ method: String, _ parameters: [String: Any]) async throws -> [String: Any] {
        let id = state.withLock { state in
            state.next += 1
            return state.next
        }
        let request = try JSONSerialization.data(withJSONObject: ["id": id, "method": method, "params": parameters])
        let text = String(decoding: request, as: UTF8.self), socket = socket
        system.loop.execute { socket.socket.send(text: text) }
        let answer = try await eventually("Chromium answers \(method)", within: patience) {
            state.withLock { $0.answers.removeValue(forKey: id) }
        }
        let object = try Self.object(answer)
        guard let result = object["result"] as? [String: Any] else {
            throw SystemFailure(description: "\(method): \(answer)")
        }
        return result
    }
}
