import AppDefinition
import DocumentModel
import DocumentStore
import EventLoop
import Logging
import SyncEngine
import SyncProtocol

/// Commits one changeset and sends its answer.
struct UploadRun {
    let upload: Upload
    let session: DeviceSession
    /// The subscription in which it was sent.
    let subscription: PartitionSubscription?

    /// Starts the commit. Changesets are committed in the order in which they are started.
    func start(on loop: EventLoop) {
        let begin = ContinuousClock.now
        let path = session.context.uploads, app = session.app
        // Ends with the commit, which the shutdown waits for.
        Task(executorPreference: loop.taskExecutor) {
            do {
                let result = try await path.committer.commit(upload, app: app)
                GatewayMetrics.uploadSeconds.record(ContinuousClock.now - begin)
                answer(result)
                if case .undecided(let unknown) = result, unknown != upload.partition { await ask(about: unknown) }
            } catch let error as DocumentStoreError where error.code == .unavailable {
                // Only this changeset failed; the store has logged the reason.
                refuse(error.message)
            } catch {
                // Of a database that takes nothing each device hears again and again.
                let isNew = path.failures.withLock { $0.isNew("\(error)", again: .seconds(10)) }
                path.logger.log(
                    level: isNew ? .warning : .debug, "an upload was not committed",
                    metadata: ["device.id": "\(upload.device)", "error": "\(error)"])
                refuse("a changeset was not committed; send it again")
            }
        }
    }

    /// The changeset gets no answer, and so the later ones in its partition get none. The device opens the partition again after a
    /// pause, and sends them again; its other partitions aren't affected.
    private func refuse(_ message: String) {
        session.closed(
            upload, of: subscription,
            .init(
                code: .unavailable, message: message, partition: upload.partition, retryAfter: DeviceSession.pause()))
    }

    /// Asks permissions about a partition into which the changeset moves documents, and which needn't be open: so it can be decided when it
    /// comes again. Without an answer it asks again then.
    private func ask(about partition: Partition) async {
        guard let claims = session.claims else { return }
        _ = try? await session.context.downloads.grants.resolve(
            app: session.app, user: claims.user, device: upload.device, partition: partition,
            claims: RuleUser(claims).claims)
    }

    private func answer(_ result: UploadResult) {
        let partition = upload.partition, version = upload.changeset.version
        switch result {
        case .acknowledged(let acknowledgement):
            session.answered(
                upload, of: subscription,
                .ack(
                    .init(
                        partition: partition, version: version, revision: acknowledgement.revision,
                        lost: acknowledgement.lost)))
        case .rejected(let rejection):
            session.answered(
                upload, of: subscription, .rejected(.init(partition: partition, version: version, reason: rejection)))
        case .forked: session.answered(upload, of: subscription, .forked(partition: partition, version: version))
        case .outOfOrder(let expected):
            session.closed(
                upload, of: subscription,
                .init(
                    code: .versionGap, message: "version \(version) came where \(expected) was expected",
                    partition: partition))
        // The device opens the partition again, for which permissions is asked, and sends the changeset again.
        case .undecided:
            session.closed(
                upload, of: subscription,
                .init(
                    code: .permissionsUnavailable, message: "it can't be decided now who may write in the partition",
                    partition: partition, retryAfter: DeviceSession.pause()))
        }
    }
}
