import DocumentModel
import HTTPClient
import PartitaClient

/// Reads of `rchat` without a device: with the data API, and with remote access from a client (`service` of `functions/call`).
struct RChatReads: Sendable {
    let stage: DemoStage
    private var configuration: LocalConfiguration { stage.configuration }

    /// Ben reads over HTTP what his device has, with both methods; Cleo, who isn't a member, reads nothing.
    func play(_ ben: RChatDevice, _ cleo: RChatDevice, _ talk: PartitionHandle) async throws {
        let filter: Value = ["partition": talk.partition.value ?? .null]
        let expected = try await talk.find("ChatMessage").count
        let http = HTTPClient(loop: stage.loop)
        do {
            for (device, count) in [(ben, expected), (cleo, 0)] {
                let token = try await device.person.accessToken()
                let found = try await DemoStage.patiently { _ in try await dataAPI(http, filter, token) }
                let called = try await DemoStage.patiently { _ in try await remoteAccess(http, filter, token) }
                guard found == count, called == count else {
                    throw DemoFailure(
                        description:
                            "\(device.name) reads \(found) messages by the data API and \(called) by remote access, not \(count)"
                    )
                }
                device.say("reads \(found) messages by the data API, and \(called) by remote access")
            }
            await http.shutDown()
        } catch {
            await http.shutDown()
            throw error
        }
    }

    private func dataAPI(_ http: HTTPClient, _ filter: Value, _ token: String) async throws -> Int {
        let body: Document = [
            "dataSource": "mongodb-atlas", "database": "RChat", "collection": "ChatMessage", "filter": filter,
        ]
        let answer = try await post(http, "/app/rchat/endpoint/data/v1/action/find", body, token)
        guard let documents = answer.documentValue?["documents"]?.arrayValue else {
            throw DemoFailure(description: "the data API answered \(ExtendedJSON.print(answer))")
        }
        return documents.count
    }

    private func remoteAccess(_ http: HTTPClient, _ filter: Value, _ token: String) async throws -> Int {
        let body: Document = [
            "service": "mongodb-atlas", "name": "find",
            "arguments": [["database": "RChat", "collection": "ChatMessage", "query": filter]],
        ]
        let answer = try await post(http, "/api/client/v2.0/app/rchat/functions/call", body, token)
        guard let documents = answer.arrayValue else {
            throw DemoFailure(description: "remote access answered \(ExtendedJSON.print(answer))")
        }
        return documents.count
    }

    private func post(_ http: HTTPClient, _ path: String, _ body: Document, _ token: String) async throws -> Value {
        let response = try await http.send(
            .init(
                method: "POST", url: configuration.authURL + path,
                headers: [.init("Content-Type", "application/json"), .init("Authorization", "Bearer \(token)")],
                body: Array(ExtendedJSON.print(body).utf8)))
        guard response.status != 503 else { throw PartitaError(code: .unreachable, message: response.text) }
        guard response.status == 200 else {
            throw DemoFailure(description: "\(path) answered \(response.status): \(response.text)")
        }
        return try ExtendedJSON.parse(response.body)
    }
}
