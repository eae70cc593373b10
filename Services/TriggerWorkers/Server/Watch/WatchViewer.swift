import AppDefinition
import AppRegistry
import DocumentModel
import EventLoop
import EventTopics
import Functions
import HTTPServer
import ServiceEngines

/// Decides what a stream's user gets of each change, by the rules that `find` applies. Used by one task.
final class WatchViewer {
    private let watch: Watch
    private let apps: AppDirectory
    private let functions: ClientFunctions
    private let clock: WallClock
    /// Admits the evaluation of filters, which users write.
    private let filters: WatchFilters
    /// `%%request`.
    private let request: Document
    private var present: (app: DeployedApp, access: UserAccess)?

    init(
        _ watch: Watch, apps: AppDirectory, functions: ClientFunctions, clock: WallClock, request: Document,
        filters: WatchFilters
    ) {
        self.watch = watch
        self.apps = apps
        self.functions = functions
        self.clock = clock
        self.request = request
        self.filters = filters
    }

    /// The server-sent event of a change; `nil` when the user doesn't see the change, or doesn't want it.
    /// - Throws: `WatchEnd` when it can't be said, so that the stream has to end.
    func text(of change: WatchedChange, token: String) async throws(WatchEnd) -> [UInt8]? {
        do {
            let event = try await change.event()
            let now = clock.now()
            guard let view = try await access().view(of: event, service: watch.wanted.service, now: now) else {
                return nil
            }
            switch view {
            case .whole:
                guard try await isWanted(change.document(event), token, now) else { return nil }
                return ServerSentEvent.message(change.wholeData(event), token: token)
            case .part(let part):
                let document = change.document(part)
                guard try await isWanted(document, token, now) else { return nil }
                return ServerSentEvent.message(ServerSentEvent.Data(document), token: token)
            }
        } catch let end as WatchEnd {
            throw end
        } catch is CancellationError {
            throw .left
        } catch let error as HTTPError {
            throw WatchEnd("failed", error)
        } catch {
            throw WatchEnd("failed", HTTPError(call: error))
        }
    }

    private func isWanted(
        _ event: @autoclosure () -> Document, _ token: String, _ now: Int64
    ) async throws -> Bool {
        let selection = watch.wanted.selection
        guard selection.hasFilter else { return true }
        return try await filters.evaluate(of: watch.claims.app, by: watch.claims.user) {
            var document: Document = ["_id": ["_data": .string(token)]]
            document.fields += event().fields
            return try selection.matches(document, now: now)
        }
    }

    /// The user's access with present custom data and secrets.
    private func access() async throws -> UserAccess {
        guard let app = apps.app(watch.claims.app) else { throw WatchEnd.removed }
        guard app.version == watch.version else { throw WatchEnd.deployed }
        let isStale = watch.takeUserChange()
        if let present, !isStale, present.app === app { return present.access }
        let user = try await functions.present(RuleUser(watch.claims), of: app.definition)
        let access = functions.access(ClientFunctions.Call(app: app, user: user, request: request))
        present = (app, access)
        return access
    }
}
