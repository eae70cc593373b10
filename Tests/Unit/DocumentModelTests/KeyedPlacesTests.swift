import Foundation
import Testing

/// Reads the sources: a `String` must not be a key for data from outside.
///
/// A place that fails here must be keyed by `ExactText`, or, if all keys are ours (settings, operators, labels of metrics), be
/// added to the list with the number of places.
struct KeyedPlacesTests {
    /// Code about the machine, and the tool: their keys are configuration, environment and the names of their own parts.
    private static let own = [
        "Libraries/C", "Libraries/ChildProcesses", "Libraries/EmbeddedKafka", "Libraries/EventLoop",
        "Libraries/HTTPClient",
        "Libraries/JavaScript", "Libraries/Kafka", "Libraries/Lifecycle", "Libraries/LocalEngines", "Libraries/Logging",
        "Libraries/Metrics", "Libraries/Redis", "Libraries/ServiceBootstrap", "Libraries/WebSocket",
        "Services/CommandLine",
    ]

    /// Dictionaries and sets of strings whose members are ours, by file.
    private static let dictionaries: [String: Int] = [
        // The words of `key_ops`.
        "Libraries/AccessTokens/JOSE/JWKUse.swift": 1,
        // Extensions of Postgres.
        "Libraries/DocumentStore/Search/DocumentCollection+Search.swift": 1,
        "Libraries/DocumentStore/Search/SearchCompiler.swift": 1,
        "Libraries/DocumentStore/Search/SearchSpecification.swift": 1,
        // Environment variables.
        "Libraries/Functions/Hosts/HostConfinement.swift": 3,
        // Ids of deployed apps, which are ASCII.
        "Services/Auth/Server/Passwords/PasswordQueue.swift": 1,
        // Settings.
        "Libraries/EventTopics/TopicContract.swift": 1,
        "Libraries/Postgres/PostgresConfiguration.swift": 2,
        // libpq's keywords.
        "Libraries/Postgres/ConnectionParameters.swift": 3,
        // Names of operators' arguments, which are checked against the known ones.
        "Libraries/QueryLanguage/Expressions/Expression.swift": 1,
        "Libraries/QueryLanguage/Expressions/ExpressionNode.swift": 4,
        "Libraries/QueryLanguage/Expressions/ExpressionParser.swift": 2,
        "Libraries/QueryLanguage/Expressions/Operators/DateOperators.swift": 1,
        "Libraries/QueryLanguage/Pipeline/Granularity.swift": 1,
    ]

    /// Structures that are hashed or compared and have a `String`, which is ours, or isn't used as an identity.
    private static let structures: Set<String> = [
        "Libraries/Texts/ExactText.swift ExactText",
        "Libraries/AccessTokens/Foreign/ForeignTokenKey.swift ForeignTokenKey",
        "Libraries/AppDefinition/Parts/CronSchedule.swift CronSchedule",
        "Libraries/AppDefinition/Parts/PresenceField.swift PresenceField",
        "Libraries/AppDefinition/Parts/PresenceField.swift MediaField",
        "Libraries/AppDefinition/Rules/RuleExpression.swift Issue",
        "Libraries/DocumentModel/Path.swift Component",
        "Libraries/EventTopics/EventPayload.swift EventAttributes",
        "Libraries/EventTopics/PermissionGrantsTopic.swift Grant",
        "Libraries/EventTopics/PresenceEventsTopic.swift PresenceEvent",
        "Libraries/EventTopics/TopicContract.swift TopicContract",
        "Libraries/EventTopics/TriggerFailuresTopic.swift Failure",
        "Libraries/PartitaClient/Account/AccessToken.swift AccessToken",
        "Libraries/PartitaClient/Sync/PartitionState.swift PartitionState",
        "Libraries/Postgres/PostgresPipelineMode.swift PostgresNotification",
        "Libraries/Postgres/PostgresRows.swift Column",
        "Libraries/SyncEngine/Conflicts/OperationOutcome.swift Code",
        "Libraries/SyncProtocol/Frames/DeviceFrame.swift Hello",
        "Libraries/SyncProtocol/Frames/GatewayFrame.swift Welcome",
        "Libraries/SyncProtocol/Frames/GatewayFrame.swift ErrorReport",
        "Libraries/SyncProtocol/SyncProtocolError.swift SyncErrorCode",
        "Services/Permissions/Server/Dependencies/Dependency.swift Dependency",
    ]

    @Test func `dictionaries and sets are keyed by texts that are compared by bytes`() throws {
        var found: [String: Int] = [:]
        for (path, lines) in try sources() {
            let count = lines.count { line in
                !line.contains("static let") && !line.contains("private static func")
                    && ["[String:", "[String :", "Set<String>", "Dictionary<String,"].contains { line.contains($0) }
            }
            if count > 0 { found[path] = count }
        }
        for (path, count) in found where count != Self.dictionaries[path] {
            Issue.record("\(path): \(count) dictionaries or sets of String, \(Self.dictionaries[path] ?? 0) are known")
        }
        for path in Self.dictionaries.keys where found[path] == nil { Issue.record("\(path) has none any more") }
    }

    @Test func `structures are hashed and compared by the bytes of their texts`() throws {
        var found: Set<String> = []
        for (path, lines) in try sources() {
            for name in Self.structures(of: lines) { found.insert("\(path) \(name)") }
        }
        for name in found.subtracting(Self.structures).sorted() {
            Issue.record("\(name) is Hashable or Equatable and has a String that isn't @ExactText")
        }
        for name in Self.structures.subtracting(found).sorted() { Issue.record("\(name) has none any more") }
    }

    /// The structures that conform and store a string.
    private static func structures(of lines: [Substring]) -> [String] {
        var names: [String] = []
        var open: [(name: String, indent: Int)] = []
        for line in lines {
            let text = line.drop { $0 == " " }
            let indent = line.count - text.count
            while let last = open.last, indent <= last.indent, text.hasPrefix("}") { open.removeLast() }
            if let match = text.firstMatch(
                of: /^(?:[a-z]+ )*struct (\w+)[^:{]*:[^{]*\b(?:Hashable|Equatable)\b[^{]*\{$/),
                !text.contains(": Error,")
            {
                open.append((String(match.1), indent))
            } else if let last = open.last, indent == last.indent + 4,
                text.contains(
                    /^(?:public |package |internal |fileprivate |private |private\(set\) )*(?:let|var) \w+: String\??(?: = .*)?$/
                )
            {
                if names.last != last.name { names.append(last.name) }
            }
        }
        return names
    }

    /// The files of libraries and services by their paths, without comments.
    private func sources() throws -> [(path: String, lines: [Substring])] {
        var root = URL(fileURLWithPath: #filePath)
        for _ in 0..<4 { root.deleteLastPathComponent() }
        var sources: [(path: String, lines: [Substring])] = []
        for folder in ["Libraries", "Services"] {
            let files = try #require(FileManager.default.enumerator(atPath: root.appending(path: folder).path()))
            for case let file as String in files where file.hasSuffix(".swift") {
                let path = "\(folder)/\(file)"
                if Self.own.contains(where: { path.hasPrefix($0 + "/") }) { continue }
                let text = try String(contentsOf: root.appending(path: path), encoding: .utf8)
                let lines = text.split(separator: "\n").filter { !$0.drop { $0 == " " }.hasPrefix("//") }
                sources.append((path, lines))
            }
        }
        #expect(sources.count > 300, "the sources are elsewhere")
        return sources
    }
}
