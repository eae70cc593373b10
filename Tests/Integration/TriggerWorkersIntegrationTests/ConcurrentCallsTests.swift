import ChildProcesses
import DocumentModel
import EventLoop
import Foundation
import FoundationNetworking
import TestSupport
import Testing

/// Many calls at a time over real HTTP.
@Suite(.serialized) struct ConcurrentCallsTests {
    private static let functions = [
        "sleep": "exports = async n => { await new Promise(d => setTimeout(d, 1000)); return n; };",
        "fetch": """
        exports = async (url, n) => {
          const response = await context.http.get({ url: `${url}?n=${n}` });
          return Number(response.body.text());
        };
        """,
        "seven": "exports = () => 7;",
        "endless": "exports = () => { while (true) {} };",
        "note": """
        exports = async n => {
          const notes = context.services.get('mongodb-atlas').db('Test').collection('Noted');
          console.log(`${n} begins`);
          await notes.insertOne({ _id: n });
          const { _id } = await notes.findOne({ _id: n });
          console.log(`${_id} ends`);
          return context.user.id;
        };
        """,
    ]

    /// Answers each request after a second with its `n`, and writes its port to the file that is its argument.
    private static let slowServer = """
        import http.server, os, sys, time
        class Handler(http.server.BaseHTTPRequestHandler):
            def do_GET(self):
                time.sleep(1)
                body = self.path.split("n=")[1].encode()
                self.send_response(200)
                self.send_header("Content-Length", str(len(body)))
                self.end_headers()
                self.wfile.write(body)
            def log_message(self, *words): pass
        class Server(http.server.ThreadingHTTPServer):
            request_queue_size = 512
        server = Server(("127.0.0.1", 0), Handler)
        with open(sys.argv[1] + ".new", "w") as file: file.write(str(server.server_address[1]))
        os.rename(sys.argv[1] + ".new", sys.argv[1])
        server.serve_forever()
        """

    /// A session with as many connections as there are calls.
    private static let session = {
        let configuration = URLSessionConfiguration.ephemeral
        configuration.httpMaximumConnectionsPerHost = 400
        return URLSession(configuration: configuration)
    }()

    private func deployed() async throws -> (TriggersFixture, TriggerApp) {
        let fixture = try await TriggersFixture.shared()
        let app = TriggerApp(
            functions: Self.functions,
            more: [
                "https_endpoints/config.json": """
                [{"route": "/seven", "http_method": "GET", "function_name": "seven", "respond_result": true, "return_type": "JSON"}]
                """
            ])
        try await fixture.deploy(app)
        try await eventually("the signing key is known") {
            try await fixture.call("known", app: app.id, token: fixture.token(app)).status == 200
        }
        return (fixture, app)
    }

    /// Calls a function at the same time with the numbers from 0 on.
    /// - Returns: the values by number, and the time that all took.
    private func call(
        _ function: String, times: Int, in app: TriggerApp, _ fixture: TriggersFixture, first: String? = nil,
        user: @escaping @Sendable (Int) -> String = { _ in "ann" }
    ) async throws -> (values: [Int: Value], time: Duration) {
        let start = ContinuousClock.now
        let values = Locked<[Int: Value]>([:])
        try await withThrowingDiscardingTaskGroup { group in
            for number in 0..<times {
                group.addTask {
                    let path = "/api/client/v2.0/app/\(app.id)/functions/call"
                    let url = try #require(URL(string: "http://127.0.0.1:\(fixture.port)\(path)"))
                    var request = URLRequest(url: url)
                    request.httpMethod = "POST"
                    let arguments = (first.map { "\"\($0)\", " } ?? "") + "\(number)"
                    request.httpBody = Data(#"{"name": "\#(function)", "arguments": [\#(arguments)]}"#.utf8)
                    let token = try fixture.token(app, user: user(number))
                    request.setValue("Bearer \(token)", forHTTPHeaderField: "Authorization")
                    let (data, response) = try await Self.session.data(for: request)
                    let text = String(decoding: data, as: UTF8.self)
                    #expect((response as? HTTPURLResponse)?.statusCode == 200, "\(text)")
                    let value = try ExtendedJSON.parse(text)
                    values.withLock { $0[number] = value }
                }
            }
        }
        return (values.withLock { $0 }, ContinuousClock.now - start)
    }

    @Test func `200 calls of a user that wait a second wait at the same time`() async throws {
        let (fixture, app) = try await deployed()
        let (values, time) = try await call("sleep", times: 200, in: app, fixture)
        for (number, value) in values { #expect(value.intValue == number) }
        // One after the other, or four at a time as there are processes, they take far longer.
        #expect(time < .seconds(20), "\(time)")
    }

    @Test func `100 calls that wait a second for another server wait at the same time`() async throws {
        let (fixture, app) = try await deployed()
        let file = FileManager.default.temporaryDirectory.appendingPathComponent("slow-\(ObjectId().hexString)").path
        let server = try ChildProcess.spawn("python3", ["-c", Self.slowServer, file])
        defer { server.signal(SIGKILL) }
        let port = try await eventually("the slow server listens") {
            (try? String(contentsOfFile: file, encoding: .utf8)).flatMap { Int($0) }
        }
        let slow = "http://localhost:\(port)/"
        let (values, time) = try await call("fetch", times: 100, in: app, fixture, first: slow)
        for (number, value) in values { #expect(value.intValue == number) }
        // One after the other, or four at a time as there are processes, they take far longer.
        #expect(time < .seconds(20), "\(time)")
    }

    @Test func `more calls than processes that wait for calls of their own app all end`() async throws {
        let (fixture, app) = try await deployed()
        let own = "http://localhost:\(fixture.port)/app/\(app.id)/endpoint/seven"
        let (values, time) = try await call("fetch", times: 60, in: app, fixture, first: own)
        #expect(values.count == 60)
        for value in values.values { #expect(value.intValue == 7) }
        #expect(time < .seconds(20), "\(time)")
    }

    @Test func `documents, lines and users of concurrent calls are each call's own`() async throws {
        let (fixture, app) = try await deployed()
        let (values, _) = try await call("note", times: 100, in: app, fixture) { "user\($0 % 7)" }
        for (number, value) in values { #expect(value.stringValue == "user\(number % 7)") }
        let notes = fixture.store.collection("Noted", database: "Test", app: app.id)
        #expect(try await notes.find([:]).compactMap { $0["_id"]?.intValue }.sorted() == Array(0..<100))
        try await eventually("all lines are kept") {
            let lines = try await fixture.postgres.query(
                "select message from partita.function_logs where app = $1 and function = 'note'", [.text(app.id)]
            ).decode(String.self)
            return lines.sorted() == (0..<100).flatMap { ["\($0) begins", "\($0) ends"] }.sorted()
        }
    }

    // Here, since it takes its time from a process that gives way to others.
    @Test func `a function that never returns is stopped, and others run meanwhile`() async throws {
        let (fixture, app) = try await deployed()
        let (_, other) = try await deployed()
        async let endless = fixture.call("endless", app: app.id, token: try fixture.token(app))
        let answer = try await fixture.call("seven", app: other.id, token: try fixture.token(other))
        #expect(answer.status == 200)
        let stopped = try await endless
        #expect(stopped.status == 400)
        #expect(try ExtendedJSON.parse(stopped.text)["error_code"]?.stringValue == "ExecutionTimeLimitExceeded")
    }
}
