import Foundation
import Lifecycle
import ServiceBootstrap
import Testing

@Suite(.serialized) struct MemoryReleaseTests {
    private static func residentMegabytes() throws -> Int {
        let fields = try String(contentsOfFile: "/proc/self/statm", encoding: .utf8).split(separator: " ")
        return (Int(fields[1]) ?? 0) * 4096 / 1_048_576
    }

    /// What stays of a burst lies between what was freed, so that the allocator can't give that back by itself.
    private static func burst() -> [[UInt8]] {
        let all = (0..<400_000).map { [UInt8](repeating: 1, count: 200 + $0 % 1500) }
        return stride(from: 0, to: all.count, by: 1000).map { all[$0] }
    }

    @Test func `a service gives back what a burst has left`() async throws {
        let kept = Self.burst()
        let before = try Self.residentMegabytes()
        let release = Task { try await MemoryRelease(interval: .milliseconds(200)).run() }
        defer { release.cancel() }
        var after = before
        let deadline = ContinuousClock.now + .seconds(30)
        while after > before - 200, ContinuousClock.now < deadline {
            try await Task.sleep(for: .milliseconds(100))  // the memory tells nobody
            after = try Self.residentMegabytes()
        }
        #expect(after <= before - 200, "\(before) MiB, then \(after) MiB")
        #expect(kept.count == 400)
    }
}
