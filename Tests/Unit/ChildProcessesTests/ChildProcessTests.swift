import ChildProcesses
import Glibc
import Testing

struct ChildProcessTests {
    @Test func `the exit status is the program's`() async throws {
        let child = try ChildProcess.spawn("sh", ["-c", "exit 7"], output: .discard)
        #expect(await child.wait() == .exited(7))
        #expect(child.exitStatus == .exited(7))
    }

    @Test func `a killed child ends as signaled`() async throws {
        let child = try ChildProcess.spawn("sleep", ["60"], output: .discard)
        #expect(child.exitStatus == nil)
        child.signal(SIGKILL)
        #expect(await child.wait() == .signaled(SIGKILL))
    }

    @Test func `a program that is missing is an error that names it`() {
        #expect(throws: ChildProcessError.self) { try ChildProcess.spawn("no-such-program-here") }
    }

    @Test func `a child that ignores SIGTERM is killed after the grace`() async throws {
        var ends: [Int32] = [0, 0]
        #expect(pipe(&ends) == 0)
        defer { close(ends[0]) }
        // The byte on descriptor 3 says that the signal is ignored from here on; `exec` keeps it so.
        let child = try ChildProcess.spawn(
            "sh", ["-c", "trap '' TERM; echo >&3; exec sleep 60"], output: .discard, descriptors: [ends[1]])
        close(ends[1])
        var byte: UInt8 = 0
        #expect(read(ends[0], &byte, 1) == 1)
        #expect(await child.terminate(grace: .milliseconds(200)) == .signaled(SIGKILL))
    }

    @Test func `the child sees only its own environment and descriptors`() async throws {
        let run = try await CapturedRun.run(
            "sh", ["-c", "echo $ONLY; ls /proc/self/fd | wc -l"],
            environment: ["ONLY": "this", "PATH": "/usr/bin:/bin"])
        #expect(run.status.isSuccess)
        #expect(run.output == "this\n4\n")  // 0, 1, 2 and the directory that ls reads
    }
}
