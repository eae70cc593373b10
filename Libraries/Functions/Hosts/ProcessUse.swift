import Foundation
import Glibc

/// What another process uses, and how much of the processor it may use beside others.
enum ProcessUse {
    /// The nice value of processes that leave the processor to others (`nice(2)`): they get about a tenth of what another one gets.
    static let low: Int32 = 10

    /// Has all threads of a process leave the processor to others, for good: only root could raise them again.
    static func lowerPriority(of process: pid_t) {
        // A process or thread that has ended needs no priority; nothing else can fail for a child.
        let threads = (try? FileManager.default.contentsOfDirectory(atPath: "/proc/\(process)/task")) ?? []
        for thread in threads.compactMap({ UInt32($0) }) {
            setpriority(__priority_which_t(PRIO_PROCESS.rawValue), thread, low)
        }
    }

    /// The resident memory in bytes; `nil` when there is no such process.
    static func memory(of process: pid_t) -> Int? {
        words(of: process, file: "statm").flatMap { $0.count > 1 ? Int($0[1]) : nil }
            .map { $0 * Int(sysconf(Int32(_SC_PAGESIZE))) }
    }

    /// The CPU time of its main thread in seconds; `nil` when there is no such process.
    static func mainThreadTime(of process: pid_t) -> Double? {
        // The second word is the program's name in parentheses, in which there may be spaces.
        guard let words = words(of: process, file: "task/\(process)/stat"),
            let name = words.lastIndex(where: { $0.hasSuffix(")") }),
            words.count > name + 13, let user = Double(words[name + 12]), let system = Double(words[name + 13])
        else { return nil }
        return (user + system) / Double(sysconf(Int32(_SC_CLK_TCK)))
    }

    private static func words(of process: pid_t, file name: String) -> [Substring]? {
        let file = open("/proc/\(process)/\(name)", O_RDONLY | O_CLOEXEC)
        guard file >= 0 else { return nil }
        defer { close(file) }
        return withUnsafeTemporaryAllocation(byteCount: 1024, alignment: 1) { buffer in
            let count = read(file, buffer.baseAddress, buffer.count)
            return count > 0 ? String(decoding: buffer.prefix(count), as: UTF8.self).split(separator: " ") : nil
        }
    }
}
