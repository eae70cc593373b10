import CJavaScriptCore
import Glibc

/// Ends a script that uses too much CPU time or memory. The engine calls it every few milliseconds of a script's CPU time.
///
/// The engine's own limit counts from each entry into the virtual machine, and every continuation of a promise is an entry, so a
/// call's CPU time is summed here.
final class Watchdog {
    enum Verdict { case cpu, memory }

    /// What one entry into the virtual machine used.
    struct Use {
        /// CPU time in seconds.
        let time: Double
        /// The bytes by which the process's resident memory grew; less than 0 when it shrank.
        let growth: Int
        /// Why the script was ended; `nil` when it wasn't.
        let verdict: Verdict?
    }

    /// The CPU time between two checks, in seconds.
    private static let interval = 0.01
    private let group: JSContextGroupRef
    /// The resident memory beyond which a script is ended, in bytes.
    var memoryLimit: Int
    /// Whether, of all scripts of the machine, the one that runs is to be ended for the memory of the process. The parameter is the
    /// bytes by which the memory has grown during the present entry.
    var isToBlame: (_ growth: Int) -> Bool = { _ in true }
    /// The thread's CPU time in seconds at which the present entry is ended.
    var deadline = Double.infinity
    private var verdict: Verdict?
    /// Resident memory after the last entry.
    private(set) var resident = Watchdog.residentBytes()
    var hasEndedScript = false

    init(group: JSContextGroupRef, memoryLimit: Int) {
        self.group = group
        self.memoryLimit = memoryLimit
    }

    /// Runs one entry into the virtual machine.
    /// - Parameter budget: the CPU time that it may take, in seconds.
    func watch<R>(budget: Double, _ body: () -> R) -> (R, Use) {
        let start = Self.threadTime()
        deadline = start + budget
        verdict = nil
        arm()
        defer {
            deadline = .infinity
            // Otherwise the engine would read the clock at each entry that isn't watched, too.
            JSContextGroupClearExecutionTimeLimit(group)
        }
        let result = body()
        let before = resident
        resident = Self.residentBytes()
        return (result, Use(time: Self.threadTime() - start, growth: resident - before, verdict: verdict))
    }

    private func arm() {
        JSContextGroupSetExecutionTimeLimit(
            group, Self.interval,
            { _, raw in
                guard let raw else { return false }
                return Unmanaged<Watchdog>.fromOpaque(raw).takeUnretainedValue().mustEnd()
            }, Unmanaged.passUnretained(self).toOpaque())
    }

    private func mustEnd() -> Bool {
        if Self.threadTime() > deadline { verdict = .cpu }
        let bytes = Self.residentBytes()
        if bytes > memoryLimit, isToBlame(bytes - resident) { verdict = .memory }
        if verdict != nil { hasEndedScript = true }
        // After a `false`, the engine calls again only if the limit is set again (observed with 2.50.6).
        if verdict == nil { arm() }
        return verdict != nil
    }

    private static func threadTime() -> Double {
        var time = timespec()
        clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time)
        return Double(time.tv_sec) + Double(time.tv_nsec) / 1e9
    }

    /// Opened once and read repeatedly, because a confined process can't open files.
    private static let memoryFile = open("/proc/self/statm", O_RDONLY | O_CLOEXEC)

    /// The process's resident memory in bytes; the engine has no effective limit of its own.
    static func residentBytes() -> Int {
        guard memoryFile >= 0 else { return 0 }
        return withUnsafeTemporaryAllocation(of: UInt8.self, capacity: 128) { buffer in
            let count = pread(memoryFile, buffer.baseAddress, buffer.count, 0)
            guard count > 0, let space = buffer.prefix(count).firstIndex(of: UInt8(ascii: " ")) else { return 0 }
            // The second number. It is read in each step of a script, so without making texts of it.
            let digits = buffer[(space + 1)..<count].prefix { $0 != UInt8(ascii: " ") }
            return digits.reduce(0) { $0 &* 10 &+ Int($1 &- UInt8(ascii: "0")) } * pageSize
        }
    }

    private static let pageSize = Int(sysconf(Int32(_SC_PAGESIZE)))
}
