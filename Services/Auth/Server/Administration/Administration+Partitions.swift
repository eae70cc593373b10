import AppDeployment
import DocumentModel

extension Administration {
    func performOnPartitions(_ call: AdminCall) async throws -> AdminAnswer {
        let partition = call.text("partition").map { Partition(given: $0).text }
        guard call.action == .serveAnew else {
            _ = try call.requiredText("partition")
            return AdminAnswer(try await deployments.partitionState(partition ?? "", of: call.app))
        }
        // All partitions of an app are a large act, which a forgotten parameter must not begin.
        guard try partition != nil || call.flag("all") else {
            throw AuthError(.missingParameter, "partition is missing; all=true means every partition of the app")
        }
        let count = try await deployments.serveAnew(partition, of: call.app, recording: recording)
        return AdminAnswer(["partitions": .int64(Int64(count))])
    }
}
