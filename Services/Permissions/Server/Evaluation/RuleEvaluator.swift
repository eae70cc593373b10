import AppDefinition
import AppRegistry
import DocumentModel
import DocumentStore
import EventLoop
import EventTopics
import Functions
import QueryLanguage

/// Evaluates the app's rules on who may open a partition, and records what the answer depends on.
struct RuleEvaluator: Sendable {
    let store: DocumentStore
    let functions: FunctionHostPool
    let logs: FunctionLogs

    /// - Parameter claims: the access token's claims about the user, of which the custom data isn't used.
    /// - Throws: the reason why there is no answer: the document store is unavailable, or a function failed. A missing answer must
    ///   not be stored as a denial.
    func verdict(on subject: Subject, claims: Document, app: DeployedApp) async throws -> Verdict {
        let recorder = Recorder()
        let user = RuleUser(claims: claims, id: subject.user)
        let answer: PartitionRules.Answer
        do {
            answer = try await PartitionRules(store: store, functions: functions, logs: logs).answer(
                app.definition, version: app.version, user: user,
                partition: subject.partition,
                observer: .init(
                    reads: { try recorder.record($0) }, untracked: { recorder.meetUntracked() },
                    outage: { recorder.meetOutage() }))
        } catch  where recorder.used.isInterrupted {
            throw Interrupted()
        }
        if !answer.isForEveryone, let place = app.definition.customUserData, place.isEnabled {
            try recorder.depend(on: place, of: user)
        }
        let used = recorder.used
        return Verdict(
            access: answer.mayWrite ? .write : answer.mayRead ? .read : .none, reason: answer.reason,
            dependencies: used.dependencies, isUntracked: used.isUntracked, isForEveryone: answer.isForEveryone)
    }

    /// The document store was unavailable while a rule function called it.
    struct Interrupted: Error {}

    /// Records what the functions of one verdict read.
    private final class Recorder: Sendable {
        private let state = Locked((dependencies: Set<Dependency>(), isUntracked: false, isInterrupted: false))

        var used: (dependencies: Set<Dependency>, isUntracked: Bool, isInterrupted: Bool) { state.withLock { $0 } }

        func record(_ call: DocumentCall) throws {
            let dependencies = try Dependency.all(of: call)
            state.withLock { state in
                state.dependencies.formUnion(dependencies)
                if call.asksForPresent { state.isUntracked = true }  // no change reports its end
            }
        }

        /// A change of the user's custom data may change the answer, like that of any document that a rule reads.
        func depend(on place: CustomUserData, of user: RuleUser) throws {
            let filter = try Filter([place.userIdField: .string(user.id)])
            let dependency = Dependency(database: place.database, collection: place.collection, filter: filter)
            state.withLock { _ = $0.dependencies.insert(dependency) }
        }

        func meetOutage() { state.withLock { $0.isInterrupted = true } }

        func meetUntracked() { state.withLock { $0.isUntracked = true } }
    }
}
