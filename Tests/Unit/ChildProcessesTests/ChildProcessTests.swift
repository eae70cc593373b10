import Dispatch
import Foundation
import Glibc
import Testing

@testable import ChildProcesses

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

    @Test func `a signal to the group reaches what the child has started`() async throws {
        var ends: [Int32] = [0, 0]
        #expect(pipe(&ends) == 0)
        defer { close(ends[0]) }
        let child = try ChildProcess.spawn("sh", ["-c", "sleep 3600 & echo; wait"], output: .descriptor(ends[1]))
        close(ends[1])
        var byte: UInt8 = 0
        #expect(read(ends[0], &byte, 1) == 1)
        child.signalGroup(SIGKILL)
        #expect(await child.wait() == .signaled(SIGKILL))
        // Nobody has the other end any more.
        var end = pollfd(fd: ends[0], events: Int16(POLLIN), revents: 0)
        #expect(poll(&end, 1, 60_000) == 1)
        #expect(read(ends[0], &byte, 1) == 0)
        child.signalGroup(SIGKILL)
    }

    @Test func `a child reads and writes files in memory, and its errors aren't among its output`() async throws {
        let input = try MemoryFile([1, 2, 3], for: "sh"), output = try MemoryFile(for: "sh")
        defer { withExtendedLifetime((input, output)) {} }
        #expect(try output.contents() == [])
        let child = try ChildProcess.spawn(
            "sh", ["-c", "echo error >&2; cat /proc/self/fd/3"], output: .standardOutput(output.descriptor),
            descriptors: [input.descriptor])
        #expect(await child.wait().isSuccess)
        #expect(try output.contents() == [1, 2, 3])
    }

    @Test func `standard output and standard error are one, unless only one is given`() async throws {
        let both = try MemoryFile(for: "sh")
        defer { withExtendedLifetime(both) {} }
        let child = try ChildProcess.spawn("sh", ["-c", "echo a; echo b >&2"], output: .descriptor(both.descriptor))
        #expect(await child.wait().isSuccess)
        #expect(String(decoding: try both.contents(), as: UTF8.self) == "a\nb\n")
        #expect(try await CapturedRun.run("sh", ["-c", "echo a; echo b >&2"]).output == "a\nb\n")
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

    @Test func `a child gets its signal when the thread that started it ends`() throws {
        let launch = Launch(
            executable: "sleep", arguments: ["60"], environment: CurrentEnvironment.variables, workingDirectory: "/",
            output: .discard, descriptors: [], account: nil, deathSignal: SIGINT)
        var thread = pthread_t()
        let box = Box(launch), reference = Unmanaged.passRetained(box)
        let failure = pthread_create(
            &thread, nil,
            { raw in
                guard let raw else { return nil }
                let box = Unmanaged<Box>.fromOpaque(raw).takeRetainedValue()
                box.result = Result { try box.launch.spawn() }
                box.done.signal()
                return nil
            }, reference.toOpaque())
        #expect(failure == 0)
        box.done.wait()
        var status: Int32 = 0
        let pid = try #require(try box.result?.get())
        #expect(waitpid(pid, &status, 0) == pid)
        #expect(status & 0x7f == SIGINT)
        pthread_join(thread, nil)
    }

    private final class Box: @unchecked Sendable {
        let launch: Launch
        let done = DispatchSemaphore(value: 0)
        var result: Result<pid_t, any Error>?

        init(_ launch: Launch) { self.launch = launch }
    }

    @Test func `a child that ends first when memory runs out has the kernel know, and its parent stays`() async throws {
        let own = try String(contentsOfFile: "/proc/self/oom_score_adj", encoding: .utf8)
        var ends: [Int32] = [0, 0]
        #expect(pipe(&ends) == 0)
        defer { close(ends[0]) }
        let child = try ChildProcess.spawn(
            "cat", ["/proc/self/oom_score_adj"], output: .descriptor(ends[1]),
            restrictions: .init(forbidsNewPrivileges: true, endsFirst: true))
        close(ends[1])
        var bytes = [UInt8](repeating: 0, count: 16)
        let count = read(ends[0], &bytes, bytes.count)
        #expect(String(decoding: bytes.prefix(max(0, count)), as: UTF8.self) == "1000\n")
        #expect(await child.wait().isSuccess)
        #expect(try String(contentsOfFile: "/proc/self/oom_score_adj", encoding: .utf8) == own)
    }

    @Test func `the child sees only its own environment and descriptors`() async throws {
        let run = try await CapturedRun.run(
            "sh", ["-c", "echo $ONLY; ls /proc/self/fd | wc -l"],
            environment: ["ONLY": "this", "PATH": "/usr/bin:/bin"])
        #expect(run.status.isSuccess)
        #expect(run.output == "this\n4\n")  // 0, 1, 2 and the directory that ls reads
    }
}
