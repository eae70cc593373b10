import Glibc

/// The resident memory of another process.
enum ResidentMemory {
    /// The size in bytes; `nil` when there is no such process.
    static func bytes(of process: pid_t) -> Int? {
        let file = open("/proc/\(process)/statm", O_RDONLY | O_CLOEXEC)
        guard file >= 0 else { return nil }
        defer { close(file) }
        return withUnsafeTemporaryAllocation(byteCount: 128, alignment: 1) { buffer in
            let count = read(file, buffer.baseAddress, buffer.count)
            guard count > 0 else { return nil }
            let words = String(decoding: buffer.prefix(count), as: UTF8.self).split(separator: " ")
            return words.count > 1 ? Int(words[1]).map { $0 * Int(sysconf(Int32(_SC_PAGESIZE))) } : nil
        }
    }
}
