import Glibc

extension ChildProcess {
    /// Restrictions for a child and for any program that it executes or starts. None by default.
    public struct Restrictions: Sendable {
        /// A resource that the kernel limits per process.
        public enum Resource: Hashable, Sendable {
            /// The number of open descriptors.
            case descriptors
            /// The size of a written file in bytes; with 0 it can't write to files at all. Pipes and sockets aren't affected.
            case fileSize
            /// The size of a core dump in bytes.
            case coreSize
            /// The number of processes and threads of its account in total.
            case processes
            /// The size of the address space in bytes.
            case addressSpace
            /// The CPU time in seconds.
            case cpuTime

            var number: Int32 {
                switch self {
                case .descriptors: Int32(RLIMIT_NOFILE.rawValue)
                case .fileSize: Int32(RLIMIT_FSIZE.rawValue)
                case .coreSize: Int32(RLIMIT_CORE.rawValue)
                case .processes: Int32(__RLIMIT_NPROC.rawValue)
                case .addressSpace: Int32(RLIMIT_AS.rawValue)
                case .cpuTime: Int32(RLIMIT_CPU.rawValue)
                }
            }
        }

        /// Whether executing a program can't grant it more privileges: set-user-id bits and file capabilities are ignored.
        public var forbidsNewPrivileges: Bool
        /// Whether the kernel ends it before its parent, and before all others, when memory runs out.
        public var endsFirst: Bool
        /// The limits of resources. A limit can't exceed the parent's.
        public var limits: [Resource: UInt64]

        public init(
            forbidsNewPrivileges: Bool = false, endsFirst: Bool = false, limits: [Resource: UInt64] = [:]
        ) {
            self.forbidsNewPrivileges = forbidsNewPrivileges
            self.endsFirst = endsFirst
            self.limits = limits
        }
    }

    /// The variables of the parent's environment that any program may get: the paths of libraries and programs, the time zone and
    /// the language. None of them grants access to anything.
    ///
    /// It is for children that process input from outside, which don't need the parent's passwords and keys.
    public static func plainEnvironment(of variables: [String: String] = CurrentEnvironment.variables) -> [String:
        String]
    {
        variables.filter { name, _ in
            ["PATH", "LD_LIBRARY_PATH", "TZ", "LANG"].contains(name) || name.hasPrefix("LC_")
        }
    }
}
