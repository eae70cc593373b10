import ChildProcesses
import DocumentModel
import Foundation
import Testing

@Suite struct UserToolTests {
    private func run(_ words: [String]) async throws -> CapturedRun {
        let system = try await RunningSystem.shared()
        let own = CurrentEnvironment.variables.filter { !$0.key.hasPrefix("PARTITA_") }
        return try await CapturedRun.run(
            CurrentEnvironment.sibling("partita"), words + ["--app", "rchat", "--data", system.directory],
            environment: own)
    }

    private static func user(_ id: String, _ email: String) -> String {
        """
        {
          "_id": "\(id)", "type": "normal", "data": {"email": "\(email)"}, "creation_date": 1500000000,
          "identities": [{"id": "\(ObjectId().hexString)", "provider_type": "local-userpass", "provider_data": {"email": "\(email)"}}]
        }
        """
    }

    @Test func `a list of users is imported line by line, again, and in any of its forms`() async throws {
        let ids = (0..<4).map { _ in ObjectId().hexString }
        let users = ids.map { Self.user($0, "\($0)@example.org") }
        let folder = FileManager.default.temporaryDirectory.appendingPathComponent("users-\(UUID().uuidString)")
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(at: folder) }  // a temporary directory
        func file(_ text: String) throws -> String {
            let file = folder.appendingPathComponent(UUID().uuidString)
            try Data(text.utf8).write(to: file)
            return file.path
        }
        let pages = try file("[\(users[0]),\n\(users[1])]\n[\(users[2])]\n")
        let first = try await run(["users", "import", pages])
        #expect(
            first.status.isSuccess && first.output.contains("3 users added, 0 were there already"), "\(first.output)")

        let lines = try file(
            users.map { $0.replacing("\n", with: " ") }.joined(separator: "\n")
                + "\n{\"_id\": \"bad {\", \"x\": \"}\\\"\"}\n" + Self.user(ObjectId().hexString, "a@b.org,z@z.org"))
        let second = try await run(["users", "import", lines])
        #expect(second.status == .exited(1))
        #expect(second.output.contains("1 users added, 3 were there already, 2 refused"), "\(second.output)")
        #expect(
            second.output.contains("\(lines):5: object 5, _id bad {: _id isn't 24 hexadecimal digits"),
            "\(second.output)")
        #expect(
            second.output.contains("\(lines):6: object 6, _id ")
                && second.output.contains(": an e-mail address has none of"), "\(second.output)")

        for text in ["{\"_id\": ", "users", "[1]"] {
            let broken = try await run(["users", "import", try file(text)])
            #expect(broken.status == .exited(1) && broken.output.contains(":1: "), "\(broken.output)")
        }
        let list = try await run(["users", "list", "--json"])
        let listed = try list.output.split(separator: "\n").map { try ExtendedJSON.parseDocument(String($0)) }
        #expect(Set(ids).isSubset(of: Set(listed.compactMap { $0["id"]?.stringValue })))
    }

    @Test func `an object that doesn't end costs no other one`() async throws {
        let ids = (0..<6).map { _ in ObjectId().hexString }
        let users = ids.map { Self.user($0, "\($0)@example.org").replacing("\n", with: " ") }
        let large = #"{"_id": "\#(ids[0])", "data": {"x": "\#(String(repeating: "x", count: 1 << 20))"}}"#
        let lines = [
            users[0], #"{"_id": "5f, "#, users[1], #"{"_id": "x", broken"#, users[2], #"{"a": 1,"#, users[3], "users",
            users[4], large, users[5], #"{"_id": "#,
        ]
        let file = FileManager.default.temporaryDirectory.appendingPathComponent("users-\(UUID().uuidString)")
        defer { try? FileManager.default.removeItem(at: file) }  // a temporary file
        try Data(lines.joined(separator: "\r\n").utf8).write(to: file)
        let run = try await run(["users", "import", file.path])
        #expect(run.status == .exited(1))
        #expect(run.output.contains("6 users added, 0 were there already, 6 refused"), "\(run.output)")
        for (line, reason) in [
            (2, "its line ends in a string"), (4, "another one begins in it"), (6, "another one begins in it"),
            (8, "neither an object nor"), (10, "more than 1048576 bytes"), (12, "the object doesn't end"),
        ] {
            #expect(
                run.output.split(separator: "\n").contains {
                    $0.contains("\(file.path):\(line): ") && $0.contains(reason)
                }, "\(line): \(run.output)")
        }
    }

    @Test func `an element that is no object costs no other one, wherever it stands`() async throws {
        for junk in ["null", "5", #""a, {\"b\": 1} ] text""#, "@@", "true false"] {
            for begin in ["", "\(junk),"] {
                let ids = (0..<3).map { _ in ObjectId().hexString }
                let users = ids.map { Self.user($0, "\($0)@example.org").replacing("\n", with: " ") }
                let file = FileManager.default.temporaryDirectory.appendingPathComponent("users-\(UUID().uuidString)")
                defer { try? FileManager.default.removeItem(at: file) }  // a temporary file
                try Data("[\(begin)\(users[0]),\(junk),\(users[1]) , \(users[2])]".utf8).write(to: file)
                let run = try await run(["users", "import", file.path])
                let refused = begin.isEmpty ? 1 : 2
                #expect(run.output.contains("3 users added, 0 were there already, \(refused) refused"), "\(run.output)")
            }
        }
    }

    @Test func `what of a list can't sign in is said, and an encoding that isn't read`() async throws {
        let folder = FileManager.default.temporaryDirectory.appendingPathComponent("users-\(UUID().uuidString)")
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(at: folder) }  // a temporary directory
        func importing(_ data: Data) async throws -> CapturedRun {
            let file = folder.appendingPathComponent(UUID().uuidString)
            try data.write(to: file)
            return try await run(["users", "import", file.path])
        }
        let id = ObjectId().hexString
        let user = Self.user(id, "\(id)@example.org")
        let marked = try await importing(Data([0xEF, 0xBB, 0xBF]) + Data("[\(user)]".utf8))
        #expect(marked.status.isSuccess && marked.output.contains("1 users added"), "\(marked.output)")
        let wide = try await importing(try #require("[]".data(using: .utf16)))
        #expect(wide.status == .exited(1) && wide.output.contains("UTF-16"), "\(wide.output)")
        let other = ObjectId().hexString
        let foreign = #"{"_id": "\#(other)", "identities": [{"id": "\#(other)", "provider_type": "oauth2-twitter"}]}"#
        let twice = try await importing(Data("\(foreign)\n\(foreign)\n".utf8))
        #expect(twice.status == .exited(1))
        #expect(twice.output.contains("1 users added, 0 were there already, 1 refused"), "\(twice.output)")
        #expect(twice.output.contains(":1: nobody can sign in with oauth2-twitter"), "\(twice.output)")
        #expect(
            twice.output.contains(":2: object 2, _id \(other): the list has a user with this _id already"),
            "\(twice.output)")
    }

    @Test func `a user is disabled, enabled, exported and deleted by the address`() async throws {
        let id = ObjectId().hexString
        let email = "\(id)@example.org"
        let path = FileManager.default.temporaryDirectory.appendingPathComponent("\(id).json")
        try Data(Self.user(id, email).utf8).write(to: path)
        defer { try? FileManager.default.removeItem(at: path) }  // a temporary file
        #expect(try await run(["users", "import", path.path]).status.isSuccess)
        #expect(try await run(["users", "disable", email]).status.isSuccess)
        #expect(try await run(["users", "show", id]).output.contains(#""disabled":true"#))
        #expect(try await run(["users", "enable", email]).status.isSuccess)
        #expect(try await run(["users", "export", email]).output.contains(#""pushRegistrations":[]"#))
        #expect(try await run(["users", "sessions", email]).output.isEmpty)
        #expect(try await run(["users", "sign-out", email]).status.isSuccess)
        #expect(try await run(["users", "sign-out", email, "none"]).output.contains("SessionNotFound"))
        #expect(try await run(["users", "delete", email]).status.isSuccess)
        let gone = try await run(["users", "show", email])
        #expect(gone.status == .exited(1) && gone.output.contains("no user has the id"))
        #expect(try await run(["users", "import", path.path]).output.contains("was deleted here"))
    }

    @Test func `a server key is printed once`() async throws {
        let name = "key-\(UUID().uuidString)"
        let made = try await run(["api-key", "create", name])
        #expect(made.status.isSuccess && made.output.count == 65, "\(made.output)")
        let list = try await run(["api-key", "list"])
        #expect(list.output.contains(name) && !list.output.contains(made.output.prefix(64)))
        #expect(try await run(["api-key", "create", name]).output.contains("APIKeyAlreadyExists"))
        #expect(try await run(["api-key", "disable", name]).status.isSuccess)
        #expect(try await run(["api-key", "delete", name]).status.isSuccess)
        #expect(try await run(["api-key", "delete", name]).output.contains("APIKeyNotFound"))
    }
}
