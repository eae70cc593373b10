public import AppDefinition
public import DocumentModel
public import DocumentStore
import FunctionProtocol

/// Evaluates the app's rules, including their functions, on who may open a partition.
public struct PartitionRules: Sendable {
    /// What the rules say about a user and a partition.
    public struct Answer: Hashable, Sendable {
        public let mayRead: Bool
        /// Whether the user may write, and so also read.
        public let mayWrite: Bool
        /// The reason, for people: the rule that allows it, or why none does.
        @ExactText public private(set) var reason: String
        /// Whether nothing of the user was looked at, so that all users get this answer.
        public let isForEveryone: Bool

        init(mayRead: Bool, mayWrite: Bool, reason: String, isForEveryone: Bool) {
            self.mayRead = mayRead
            self.mayWrite = mayWrite
            self.reason = reason
            self.isForEveryone = isForEveryone
        }
    }

    /// Watches an evaluation.
    public struct Observer: Sendable {
        /// Called before a function reads documents; what it throws, the function gets as an error.
        public var reads: @Sendable (DocumentCall) throws -> Void
        /// Called when a function uses something whose changes can't be followed: the clock, or a service.
        public var untracked: @Sendable () -> Void
        /// Called when the document store was unavailable to a function.
        public var outage: @Sendable () -> Void
        /// Called with the result of each function.
        public var called: @Sendable (_ function: String, _ arguments: [Value], Result<Value, any Error>) -> Void

        public init(
            reads: @escaping @Sendable (DocumentCall) throws -> Void = { _ in },
            untracked: @escaping @Sendable () -> Void = {}, outage: @escaping @Sendable () -> Void = {},
            called: @escaping @Sendable (String, [Value], Result<Value, any Error>) -> Void = { _, _, _ in }
        ) {
            self.reads = reads
            self.untracked = untracked
            self.outage = outage
            self.called = called
        }
    }

    private let store: DocumentStore
    private let functions: RuleFunctions

    /// - Parameter logs: keep what the functions write to their console, and how they fail.
    public init(store: DocumentStore, functions: FunctionHostPool, logs: FunctionLogs? = nil) {
        self.store = store
        self.functions = RuleFunctions(hosts: functions, store: store, logs: logs)
    }

    /// - Parameters:
    ///   - app: the definition whose rules are applied; the store has to know its collections.
    ///   - user: whose custom data is read, whatever the value has.
    ///   - version: tells the definition from others of the app in the functions' processes.
    /// - Throws: the reason why there is no answer: the document store is unavailable, or a function failed. A missing answer must
    ///   not be stored as a denial.
    public func answer(
        _ app: AppDefinition, version: Int64, user: RuleUser, partition: Partition, observer: Observer = Observer()
    ) async throws -> Answer {
        guard let sync = app.sync, sync.isEnabled else {
            return Answer(mayRead: false, mayWrite: false, reason: "the app doesn't sync", isForEveryone: true)
        }
        guard let value = partition.value, sync.admits(value) else {
            return Answer(
                mayRead: false, mayWrite: false, reason: "the partition value is no \(sync.partitionType.rawValue)",
                isForEveryone: true)
        }
        let user = try await user.withPresentCustomData(of: app, in: store)
        let context = RuleContext(app: app, user: user, partition: value)
        let call: RuleExpression.FunctionCall = { name, arguments in
            RuleFunctionResult(
                try await functions.run(name, arguments, of: app, version: version, user: user, observer: observer))
        }
        let write = try await sync.write.outcome(in: context, callFunction: call)
        if write.holds {
            return Answer(
                mayRead: true, mayWrite: true, reason: "sync.partition.permissions.write",
                isForEveryone: !write.referencedUser)
        }
        let read = try await sync.read.outcome(in: context, callFunction: call)
        return Answer(
            mayRead: read.holds, mayWrite: false,
            reason: read.holds ? "sync.partition.permissions.read" : "no rule allows it",
            isForEveryone: !write.referencedUser && !read.referencedUser)
    }
}

extension RuleUser {
    /// - Parameter claims: as in a permission request: `type`, `data`, `custom_data`, `identities`.
    public init(claims: Document, id: String) {
        self.init(
            id: id, type: claims["type"]?.stringValue ?? "normal", data: claims["data"]?.documentValue ?? [:],
            customData: claims["custom_data"]?.documentValue ?? [:],
            identities: (claims["identities"]?.arrayValue ?? []).compactMap(\.documentValue))
    }
}
