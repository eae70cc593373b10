import Glibc

/// What another process uses.
enum ProcessUse {
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
