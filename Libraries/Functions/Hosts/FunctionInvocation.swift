import DocumentModel
import FunctionProtocol

/// One run of a function, with the parent's handlers for its effects and its console.
public struct FunctionInvocation: Sendable {
    /// How much a run may use.
    public struct Limits: Sendable {
        /// Seconds of CPU time.
        public var cpu: Double
        /// The time from the call to the result, including waiting.
        public var wall: Duration

        public init(cpu: Double = 10, wall: Duration = .seconds(90)) {
            self.cpu = cpu
            self.wall = wall
        }

        var wallMilliseconds: UInt64 { UInt64(max(1, wall / .milliseconds(1))) }
    }

    public var bundle: FunctionBundle
    /// The name of the share of hosts that it uses. Invocations of one share wait for each other, but not for those of other
    /// shares.
    public var share: String
    /// The user within the share on whose behalf it runs, so that one user's hanging functions don't delay another's.
    public var member: ExactText?
    public var call: FunctionCall
    public var limits: Limits
    /// Whether it runs in a host of its own: so that it neither ends with others' calls nor others' with it.
    public var needsOwnHost: Bool
    /// Carries out the function's effects outside of its process.
    public var perform: @Sendable (FunctionEffect) async -> Result<Value, EffectFailure>
    /// Called when nothing of the run needs `perform` any more; perhaps more than once. With it, timers that the function has left behind may run
    /// after the call was answered, until its time limit. `nil`: such timers don't run, and the caller knows the end by the answer.
    public var finish: (@Sendable () async -> Void)?
    /// Called when the run reads the clock for the first time; `nil`: nobody wants to know.
    public var readsClock: (@Sendable () -> Void)?
    /// Takes a line of the function's console.
    public var log: @Sendable (ConsoleLine) -> Void

    /// - Parameters:
    ///   - share: the app by default.
    ///   - user: the user who asked for it; `nil` when no user did.
    ///   - needsOwnHost: whether it shares its host with no other call.
    ///   - givesResponse: whether it answers an endpoint; see ``FunctionCall/givesResponse``.
    public init(
        bundle: FunctionBundle, share: String? = nil, user: String? = nil, function: String, arguments: [Value] = [],
        context: Document = [:],
        limits: Limits = Limits(), needsOwnHost: Bool = false, givesResponse: Bool = false,
        seed: Int64? = nil, now: Int64? = nil,
        perform: @escaping @Sendable (FunctionEffect) async -> Result<Value, EffectFailure>,
        finish: (@Sendable () async -> Void)? = nil, readsClock: (@Sendable () -> Void)? = nil,
        log: @escaping @Sendable (ConsoleLine) -> Void = { _ in }
    ) {
        self.bundle = bundle
        self.share = share ?? bundle.app
        member = user.map { ExactText($0) }
        call = FunctionCall(
            id: 1, function: function, arguments: FunctionArguments(arguments),
            context: ExtendedJSON.print(context, mode: .exact), cpuLimit: limits.cpu,
            turn: ExactText(self.share + "/" + (user ?? "")), seed: seed, now: now, givesResponse: givesResponse,
            watchesClock: readsClock != nil)
        self.limits = limits
        self.needsOwnHost = needsOwnHost
        self.perform = perform
        self.finish = finish
        self.readsClock = readsClock
        self.log = log
    }
}
