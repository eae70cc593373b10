import ChildProcesses
import Foundation
import TestSupport
import Testing

extension EndToEnd {
    struct DemoTests {
        static let apps = ["rchat", "ofish", "findourdevices", "teamwork"]

        private static func arguments(_ app: String, _ system: RunningSystem) -> [String] {
            ["demo", app, "--data", system.directory, "--apps", TestApp.rchat + "/.."]
        }

        @Test(arguments: apps) func `the journey succeeds on the running system`(app: String) async throws {
            let system = try await RunningSystem.shared()
            let run = try await CapturedRun.run(CurrentEnvironment.sibling("partita"), Self.arguments(app, system))
            #expect(run.status.isSuccess, "\(run.output)\n\(system.logEnds())")
        }

        /// One service is killed at the beginning of each scene, until each was.
        @Test(arguments: apps) func `the journey succeeds while every service is killed once`(app: String) async throws
        {
            let system = try await RunningSystem.shared()
            let log = "\(system.directory)/journey-of-\(app).log"
            let before = try RunningSystem.services.map { try system.pid(of: $0) }
            let demo = try ChildProcess.spawn(
                CurrentEnvironment.sibling("partita"), Self.arguments(app, system), output: .file(log))
            SystemAtExit.remember(demo)
            var killed = 0
            while demo.exitStatus == nil {
                let scenes = (try? String(contentsOfFile: log, encoding: .utf8))?  // it may not be there yet
                    .split(separator: "\n").count { !$0.hasPrefix(" ") && !$0.hasPrefix("partita:") }
                if killed < min(scenes ?? 0, RunningSystem.services.count) {
                    try system.kill(RunningSystem.services[killed])
                    killed += 1
                }
                try await Task.sleep(for: .milliseconds(5))  // the process is only observed
            }
            let output = try String(contentsOfFile: log, encoding: .utf8)
            #expect(demo.exitStatus?.isSuccess == true, "\(output)\n\(system.logEnds())")
            #expect(killed == RunningSystem.services.count)
            for (service, old) in zip(RunningSystem.services, before) {
                try await system.waitUntilReplaced(service, old)
            }
        }
    }
}
