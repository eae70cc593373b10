import ChildProcesses
import Testing

struct ChildProcessTests {
    @Test func `the exit status is the program's`() async throws {
        let child = try ChildProcess.spawn("sh", ["-c", "exit 7"], output: .discard)
        #expect(await child.wait() == .exited(7))
        #expect(child.exitStatus == .exited(7))
    }

    @Test func `a killed child ends as signaled`() async throws {
        let child = try ChildProcess.spawn("cat", [], output: .discard, descriptors: [])
        child.signal(9)
        let status = await child.wait()
        #expect(status == .signaled(9) || status == .exited(0))  // `cat` may read the end of /dev/null first
    }

    @Test func `a program that is missing is an error that names it`() {
        #expect(throws: ChildProcessError.self) { try ChildProcess.spawn("no-such-program-here") }
    }

    @Test func `a child that ignores SIGTERM is killed after the grace`() async throws {
        let child = try ChildProcess.spawn("sh", ["-c", "trap '' TERM; while :; do read x </dev/tty; done"], output: .discard)
        #expect(await child.terminate(grace: .milliseconds(200)) != .exited(0))
    }

    @Test func `the child sees only its own environment and descriptors`() async throws {
        let run = try await CapturedRun.run("sh", ["-c", "echo $ONLY; ls /proc/self/fd | wc -l"], environment: ["ONLY": "this", "PATH": "/usr/bin:/bin"])
        #expect(run.status.isSuccess)
        #expect(run.output == "this\n4\n")  // 0, 1, 2 and the directory that ls reads
    }
}
