import DocumentModel
import FunctionProtocol

/// One run of a function, with what the parent does for it.
public struct FunctionInvocation: Sendable {
    /// How much a run may use.
    public struct Limits: Sendable {
        /// Seconds of CPU time.
        public var cpu: Double
        /// From the call to the result, waiting included.
        public var wall: Duration

        public init(cpu: Double = 10, wall: Duration = .seconds(90)) {
            self.cpu = cpu
            self.wall = wall
        }

        var wallMilliseconds: UInt64 { UInt64(max(1, wall / .milliseconds(1))) }
    }

    public var bundle: FunctionBundle
    /// Whose share of the hosts it takes: those of one share wait for each other, others don't wait for them.
    public var share: String
    /// For whom of these it runs: one user's hanging functions don't hold up another's.
    public var member: ExactText?
    public var call: FunctionCall
    public var limits: Limits
    /// Carries out what the function asks of the outside.
    public var perform: @Sendable (FunctionEffect) async -> Result<Value, EffectFailure>
    /// Takes a line of the function's console.
    public var log: @Sendable (ConsoleLine) -> Void

    /// - Parameters:
    ///   - share: the app by default.
    ///   - user: who asked for it; `nil` where it is nobody's.
    public init(
        bundle: FunctionBundle, share: String? = nil, user: String? = nil, function: String, arguments: [Value] = [],
        context: Document = [:],
        limits: Limits = Limits(),
        seed: Int64? = nil, now: Int64? = nil,
        perform: @escaping @Sendable (FunctionEffect) async -> Result<Value, EffectFailure>,
        log: @escaping @Sendable (ConsoleLine) -> Void = { _ in }
    ) {
        self.bundle = bundle
        self.share = share ?? bundle.app
        member = user.map { ExactText($0) }
        call = FunctionCall(
            id: 1, function: function, arguments: arguments, context: context, cpuLimit: limits.cpu, seed: seed,
            now: now)
        self.limits = limits
        self.perform = perform
        self.log = log
    }
}
