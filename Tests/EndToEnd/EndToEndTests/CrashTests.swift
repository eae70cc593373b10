import Foundation
import Glibc
import HTTPClient
import TestSupport
import Testing

extension EndToEnd {
    /// A service that dies of a signal says of what and with which work, comes back, and is counted.
    struct CrashTests {
        @Test func `a service that crashes reports it, is started again and counts it`() async throws {
            let system = try await RunningSystem.shared()
            let log = "\(system.directory)/logs/media-offload.log"
            let before = try await crashes(of: "media-offload", on: system)
            let old = try system.pid(of: "media-offload")
            let start = ContinuousClock.now
            try system.kill("media-offload", SIGSEGV)
            try await eventually("media-offload is started again", within: .seconds(20), every: .milliseconds(10)) {
                try system.pid(of: "media-offload") != old
            }
            print("started again after \((ContinuousClock.now - start).formatted(.units(allowed: [.milliseconds])))")
            try await system.waitUntilReplaced("media-offload", old)

            let reports = try reports(in: log)
            let report = try #require(reports.last)
            #expect(report["signal"] as? String == "SIGSEGV")
            let stack = try #require(report["stack"] as? [String])
            #expect(stack.contains { $0.hasPrefix("media-offload+0x") && $0.contains(" ") }, "\(stack)")
            #expect(try await crashes(of: "media-offload", on: system) == before + 1)
        }

        @Test func `a service whose number can't be written is supervised like others`() async throws {
            let system = try await RunningSystem.shared(), name = "media-offload"
            let file = "\(system.directory)/run/\(name).pid"
            var former = try system.pid(of: name)
            // As on a full disk: no file can take this name.
            try FileManager.default.removeItem(atPath: file)
            try FileManager.default.createDirectory(atPath: file + "/in-the-way", withIntermediateDirectories: true)
            for _ in 0..<2 {
                kill(former, SIGKILL)
                try await eventually("\(name) is started again\n\(system.logEnds())", within: .seconds(30)) {
                    let next = try Self.children(of: system.up.pid, named: name).first { $0 != former }
                    former = next ?? former
                    return next != nil
                }
            }
            try FileManager.default.removeItem(atPath: file)
            kill(former, SIGKILL)
            try await eventually("the number is written again", within: .seconds(30)) {
                FileManager.default.fileExists(atPath: file)
            }
            try await system.waitUntilReplaced(name, former)
        }

        @Test func `the report names the request that was in progress`() async throws {
            let system = try await RunningSystem.shared()
            let ada = try await TestDevice.register("ada", on: system)
            let token = try await ada.accessToken(on: system)
            let old = try system.pid(of: "auth")
            // A request whose answer can't come: Postgres stands still.
            let postgres = try system.pid(of: "postgres")
            kill(postgres, SIGSTOP)
            defer { kill(postgres, SIGCONT) }
            let children = try Self.children(of: postgres)
            for child in children { kill(child, SIGSTOP) }
            defer { for child in children { kill(child, SIGCONT) } }
            let asking = Task { [url = system.url(of: "auth"), loop = system.loop] in
                let http = HTTPClient(loop: loop)
                _ = try? await http.send(  // it ends with the process
                    .init(
                        method: "GET", url: url + "/api/client/v2.0/auth/profile",
                        headers: [.init("Authorization", "Bearer \(token)"), .init("X-Request-Id", "asked-\(old)")]))
                await http.shutDown()
            }
            try await eventually("the request is in progress", within: .seconds(20)) {
                try await metrics(of: "auth", on: system).contains {
                    $0.hasPrefix("http_server_requests_in_progress{") && $0.contains("/auth/profile\"")
                        && !$0.hasSuffix(" 0")
                }
            }
            try system.kill("auth", SIGABRT)
            _ = await asking.value
            for child in children { kill(child, SIGCONT) }
            kill(postgres, SIGCONT)
            try await system.waitUntilReplaced("auth", old)

            let report = try #require(try reports(in: "\(system.directory)/logs/auth.log").last)
            #expect(report["signal"] as? String == "SIGABRT")
            let work = try #require(report["in.progress"] as? [String])
            #expect(work.contains { $0.hasPrefix("request asked-\(old) GET /api/client/v2.0/auth/profile") }, "\(work)")
            try await ada.close()
        }

        static func children(of process: pid_t) throws -> [pid_t] {
            // Each thread has its own; one may end meanwhile.
            try FileManager.default.contentsOfDirectory(atPath: "/proc/\(process)/task").flatMap { thread in
                let file = "/proc/\(process)/task/\(thread)/children"
                let text = (try? String(contentsOfFile: file, encoding: .utf8)) ?? ""
                return text.split(separator: " ").compactMap { pid_t($0) }
            }
        }

        private static func children(of process: pid_t, named name: String) throws -> [pid_t] {
            try children(of: process).filter {
                // One may end meanwhile.
                (try? String(contentsOfFile: "/proc/\($0)/comm", encoding: .utf8)) == name + "\n"
            }
        }

        private func reports(in log: String) throws -> [[String: Any]] {
            let text = try String(contentsOfFile: log, encoding: .utf8)
            return text.split(separator: "\n").filter { $0.contains("died of a signal") }.compactMap { line in
                let event = try? JSONSerialization.jsonObject(with: Data(line.utf8)) as? [String: Any]
                return event?["metadata"] as? [String: Any]
            }
        }

        private func crashes(of service: String, on system: RunningSystem) async throws -> Int {
            let line = try await metrics(of: service, on: system).first { $0.hasPrefix("process_crashes_total ") }
            return Int(try #require(line).split(separator: " ")[1]) ?? -1
        }

        private func metrics(of service: String, on system: RunningSystem) async throws -> [Substring] {
            let http = HTTPClient(loop: system.loop)
            let metrics = try await http.send(.init(method: "GET", url: system.url(of: service) + "/metrics"))
            await http.shutDown()
            return metrics.text.split(separator: "\n")
        }
    }
}
