import DocumentStore
import EventLoop
import Logging
import SyncProtocol

/// A changeset on its way to its answer.
struct UploadRun {
    let upload: Upload
    let session: DeviceSession

    /// Begins. Changesets that are started one after the other are committed in that order.
    func start(on loop: EventLoop) {
        let begin = ContinuousClock.now
        let context = session.context, app = session.app
        // Ends with the commit, which the shutdown waits for.
        Task(executorPreference: loop.taskExecutor) {
            do {
                let result = try await context.committer.commit(upload, app: app)
                GatewayMetrics.uploadSeconds.record(ContinuousClock.now - begin)
                session.answered(Self.answer(result, to: upload))
            } catch {
                context.logger.warning(
                    "an upload was not committed", metadata: ["device.id": "\(upload.device)", "error": "\(error)"])
                session.notCommitted()
            }
        }
    }

    private static func answer(_ result: UploadResult, to upload: Upload) -> GatewayFrame {
        let version = upload.changeset.version
        switch result {
        case .acknowledged(let acknowledgement):
            return .ack(
                .init(
                    partition: upload.partition, version: version, revision: acknowledgement.revision,
                    lost: acknowledgement.lost.map {
                        .init(operation: $0.operation, reason: $0.isDeleted ? .deleted : .overwritten, paths: $0.paths)
                    }))
        case .rejected(let rejection):
            return .rejected(.init(partition: upload.partition, version: version, reason: rejection))
        case .forked: return .forked(partition: upload.partition)
        case .outOfOrder(let expected):
            return .error(
                .init(
                    code: .notSubscribed,
                    message: "version \(version) came where \(expected) was expected; open the partition again",
                    partition: upload.partition))
        }
    }
}
