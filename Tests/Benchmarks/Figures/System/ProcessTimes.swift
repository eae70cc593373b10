import BenchmarkRunner
import Foundation
import Glibc

/// The CPU times of processes, as Linux counts them (proc(5), `/proc/PID/stat`).
struct ProcessTimes {
    let parent: Int32
    /// In user and kernel mode, in seconds.
    let seconds: Double

    static func read(_ process: Int32) throws -> ProcessTimes {
        let text = try String(contentsOfFile: "/proc/\(process)/stat", encoding: .utf8)
        // The name, which is in parentheses, may have spaces.
        let fields = text[(text.lastIndex(of: ")") ?? text.startIndex)...].split(separator: " ").dropFirst()
        let numbers = fields.dropFirst().map { Int64($0) }
        guard numbers.count > 12, let parent = numbers[0], let user = numbers[10], let system = numbers[11] else {
            throw BenchmarkError("/proc/\(process)/stat: \(text)")
        }
        return ProcessTimes(parent: Int32(parent), seconds: Double(user + system) / Double(sysconf(Int32(_SC_CLK_TCK))))
    }

    /// The times of these processes and of all their descendants, by process.
    static func ofFamilies(_ heads: [Int32]) throws -> [Int32: Double] {
        var all: [Int32: ProcessTimes] = [:]
        for name in try FileManager.default.contentsOfDirectory(atPath: "/proc") {
            guard let process = Int32(name) else { continue }
            all[process] = try? read(process)  // it has ended meanwhile
        }
        return all.filter { process, _ in
            var next = process
            while let times = all[next], !heads.contains(next), times.parent > 1 { next = times.parent }
            return heads.contains(next)
        }.mapValues(\.seconds)
    }
}
