import ChildProcesses
import Foundation
import Functions
import Testing

/// What a script that broke out of the engine could reach, in processes as services start them.
struct ConfinementTests {
    private static let source = ["f": "exports = () => 1"]

    private func text(_ name: String, of host: TestHost) throws -> String {
        String(decoding: try Data(contentsOf: URL(fileURLWithPath: "/proc/\(host.child.pid)/\(name)")), as: UTF8.self)
    }

    /// The line of a `status` file with this name, without the name.
    private func field(_ name: String, in status: String) -> String? {
        status.split(separator: "\n").first { $0.hasPrefix(name + ":") }.map {
            $0.dropFirst(name.count + 1).trimmingCharacters(in: .whitespaces)
        }
    }

    @Test func `of its parent's environment a host gets only libraries, time zone and language`() throws {
        for name in ["PARTITA_CONFINED_TOKEN", "CONFINED_SECRET_ACCESS_KEY"] {
            setenv(name, "a secret of the service", 1)
        }
        setenv("JSC_numberOfGCMarkers", "2", 1)
        let host = try TestHost(Self.source)
        let names = try text("environ", of: host).split(separator: "\0").map { String($0.prefix { $0 != "=" }) }
        let known: Set = ["PATH", "LD_LIBRARY_PATH", "TZ", "LANG"]
        #expect(names.filter { !known.contains($0) && !$0.hasPrefix("LC_") && !$0.hasPrefix("JSC_") } == [])
        #expect(names.contains("JSC_numberOfGCMarkers"))
    }

    @Test func `no thread of a host may gain privileges, and the kernel filters all their calls`() throws {
        let host = try TestHost([
            "f": "exports = () => { let s = 0; for (let i = 0; i < 1e7; i++) s += i % 7; return s }"
        ])
        _ = try host.call("f").get()  // threads that translate it begin late
        let threads = try FileManager.default.contentsOfDirectory(atPath: "/proc/\(host.child.pid)/task")
        #expect(threads.count > 1)
        for thread in threads {
            let status = try text("task/\(thread)/status", of: host)
            #expect(field("NoNewPrivs", in: status) == "1")
            #expect(field("Seccomp", in: status) == "2")
            #expect(field("CapEff", in: status) == "0000000000000000")
        }
    }

    @Test func `a host that root starts runs as the account nobody, without groups`() throws {
        let host = try TestHost(Self.source)
        let status = try text("status", of: host)
        let users = try #require(field("Uid", in: status)).split(whereSeparator: \.isWhitespace)
        #expect(!users.contains("0"))
        if geteuid() == 0 {
            #expect(Set(users) == ["\(getpwnam("nobody").pointee.pw_uid)"])
            #expect(field("Groups", in: status) == "")
        }
    }

    @Test func `a host inherits no descriptor but its socket`() throws {
        // As a careless library opens them, without close-on-exec.
        let file = FileManager.default.temporaryDirectory.appendingPathComponent("secret-\(UUID().uuidString)").path
        #expect(FileManager.default.createFile(atPath: file, contents: Data("secret".utf8)))
        defer { try? FileManager.default.removeItem(atPath: file) }  // a temporary file
        let opened = open(file, O_RDWR)
        defer { close(opened) }
        let host = try TestHost(Self.source)
        let numbers = try FileManager.default.contentsOfDirectory(atPath: "/proc/\(host.child.pid)/fd")
        var targets: [String: String] = [:]
        for number in numbers {
            targets[number] = try FileManager.default.destinationOfSymbolicLink(
                atPath: "/proc/\(host.child.pid)/fd/\(number)")
        }
        #expect(targets["0"] == "/dev/null")
        #expect(targets.values.filter { $0.hasPrefix("socket:") }.count == 1, "\(targets)")
        for (number, target) in targets where !["1", "2"].contains(number) {
            let isOwn = ["socket:", "anon_inode:", "/proc/\(host.child.pid)/", "/dev/null", "/dev/urandom"].contains {
                target.hasPrefix($0)
            }
            #expect(isOwn, "\(number) is \(target)")
        }
    }

    @Test func `a host may write no file, leave no memory image, and open few descriptors`() throws {
        let limits = try text("limits", of: try TestHost(Self.source))
        func limit(_ name: String) -> [String] {
            limits.split(separator: "\n").first { $0.hasPrefix(name) }.map {
                $0.dropFirst(name.count).split(separator: " ").prefix(2).map(String.init)
            } ?? []
        }
        #expect(limit("Max file size") == ["0", "0"])
        #expect(limit("Max core file size") == ["0", "0"])
        #expect(limit("Max open files") == ["64", "64"])
    }

    @Test func `everything that leads out of a host is refused`() async throws {
        let program = CurrentEnvironment.sibling("function-host")
        let run = try await CapturedRun.run(program, ["--confinement"])
        #expect(run.status.isSuccess, "\(run.output)")
        let attempts = run.output.split(separator: "\n").map { $0.split(separator: ":").map(String.init) }
        let names = Set(attempts.compactMap(\.first))
        #expect(
            names.isSuperset(of: [
                "socket", "connect", "bind", "execute", "fork", "read-file", "write-file", "trace", "signal-parent",
            ]))
        for attempt in attempts { #expect(attempt.last == " Operation not permitted", "\(attempt)") }
        // The attempts are valid: without the filter they succeed.
        let open = try await CapturedRun.run(program, ["--confinement", "--without-filter"])
        #expect(open.output.contains("socket: allowed"))
        #expect(open.output.contains("read-file: allowed"))
        #expect(open.output.contains("fork: allowed"))
    }

    @Test func `features that need files at their first use work in a host that can't open any`() throws {
        let host = try TestHost([
            "time":
                "exports = () => [typeof new Date().toString(), new Date(0).toLocaleString('de', { timeZone: 'Asia/Tokyo' })]",
            "words": "exports = () => ['ä'.localeCompare('z', 'de'), new Intl.NumberFormat('fr').format(0.5)]",
            "token": "exports = () => utils.jwt.encode('HS256', { a: 1 }, 'key').split('.').length",
            "large": "exports = () => Array.from({ length: 300000 }, (_, i) => ({ i })).length",
        ])
        #expect(try host.call("time").get().arrayValue?.first == "string")
        #expect(try host.call("words").get().arrayValue?.count == 2)
        #expect(try host.call("token").get().intValue == 3)
        #expect(try host.call("large").get().intValue == 300_000)
    }
}
