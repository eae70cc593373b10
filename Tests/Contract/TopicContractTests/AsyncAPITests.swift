import DocumentModel
import EventTopics
import Foundation
import Testing

/// `Deploy/asyncapi.yaml` against the contracts and the golden messages.
@Suite struct AsyncAPITests {
    private let document: YAML

    init() throws {
        var root = URL(filePath: #filePath)
        for _ in 0..<4 { root.deleteLastPathComponent() }
        document = try YAML(String(contentsOf: root.appending(path: "Deploy/asyncapi.yaml"), encoding: .utf8))
    }

    @Test func `every topic is documented as its contract says, and no other`() throws {
        #expect(document["asyncapi"]?.text == "3.0.0")
        let channels = try #require(document["channels"]?.map)
        let addresses = channels.values.compactMap { $0["address"]?.text }
        #expect(Set(addresses) == Set(Topics.all.map { $0.fullName(pool: "{pool}") }))
        #expect(channels.count == Topics.all.count)
        for contract in Topics.all {
            let (name, channel) = try #require(
                channels.first { $0.value["address"]?.text == contract.fullName(pool: "{pool}") })
            #expect(channel["summary"]?.text == contract.summary)
            #expect(channel["x-key"]?.text == contract.key)
            #expect(channel["x-writers"]?.texts == contract.writers.map(\.rawValue))
            #expect(channel["x-readers"]?.texts == contract.readers.map(\.rawValue))
            let kafka = channel["bindings", "kafka"]
            #expect(kafka?["partitions"]?.text == "\(contract.partitions)")
            #expect(
                kafka?["topicConfiguration", "cleanup.policy"]?.texts?.first == contract.configuration["cleanup.policy"]
            )
            #expect(kafka?["topicConfiguration", "retention.ms"]?.text == contract.configuration["retention.ms"])
            let messages = try #require(channel["messages"]?.map).values.map { try #require(resolved($0)) }
            #expect(Set(messages.compactMap { $0["name"]?.text }) == Set(contract.types))
            let operations = try #require(document["operations"]?.map)
            #expect(operations.values.contains { $0["channel", "$ref"]?.text == "#/channels/\(name)" })
        }
    }

    @Test func `the headers are those of the envelope`() throws {
        let headers = try #require(document["components", "schemas", "Headers"])
        #expect(headers["required"]?.texts == EventEnvelope.Header.required)
        #expect(
            Set(try #require(headers["properties"]?.map).keys)
                == Set(EventEnvelope.Header.required + EventEnvelope.Header.optional))
        for sample in Samples.all {
            #expect(sample.encoded.headers.map(\.name).starts(with: EventEnvelope.Header.required))
        }
    }

    @Test func `every golden message fits its schema, and together they use all of it`() throws {
        let messages = try #require(document["components", "messages"]?.map)
        var used: Set<String> = []
        for sample in Samples.all {
            let type = try #require(sample.encoded.headers.first { $0.name == "ce_type" }?.value)
            let message = try #require(messages.values.first { $0["name"]?.text == type }, "\(type)")
            #expect(message["headers", "$ref"]?.text == "#/components/schemas/Headers")
            let reference = try #require(message["payload", "$ref"]?.text)
            let value = Value.document(try ExtendedJSON.parseDocument(sample.encoded.value))
            for problem in check(value, try #require(message["payload"]), at: reference, &used) {
                Issue.record("\(sample.name): \(problem)")
            }
        }
        var declared: Set<String> = []
        for message in messages.values {
            guard let payload = message["payload"], let path = payload["$ref"]?.text else { continue }
            collect(payload, at: path, &declared)
        }
        #expect(declared.subtracting(used) == [])
    }

    // MARK: Schemas

    private func resolved(_ schema: YAML) -> YAML? {
        guard let path = schema["$ref"]?.text else { return schema }
        return path.dropFirst(2).split(separator: "/").reduce(Optional(document)) { $0?[String($1)] }
    }

    /// Types of Extended JSON that the model has as values, by the schemas that describe their text.
    private func isScalar(_ name: String) -> ((Value) -> Bool)? {
        switch name {
        case "#/components/schemas/Date": { $0.dateValue != nil }
        case "#/components/schemas/Int64": { if case .int64 = $0 { true } else { false } }
        case "#/components/schemas/Int32": { if case .int32 = $0 { true } else { false } }
        case "#/components/schemas/Timestamp": { if case .timestamp = $0 { true } else { false } }
        default: nil
        }
    }

    private func check(_ value: Value, _ schema: YAML, at path: String, _ used: inout Set<String>) -> [String] {
        if let name = schema["$ref"]?.text, let matches = isScalar(name) {
            return matches(value) ? [] : ["\(path) is no \(name)"]
        }
        guard let schema = resolved(schema) else { return ["\(path): unknown schema"] }
        if let choices = schema["enum"]?.texts, !choices.contains(value.stringValue ?? "") {
            return ["\(path) is none of \(choices)"]
        }
        if let pattern = schema["pattern"]?.text,
            value.stringValue?.range(of: pattern, options: .regularExpression) == nil
        {
            return ["\(path) doesn't match"]
        }
        switch schema["type"]?.text {
        case "string": return value.stringValue == nil ? ["\(path) is no string"] : []
        case "boolean": return value.boolValue == nil ? ["\(path) is no boolean"] : []
        case "array":
            guard let elements = value.arrayValue else { return ["\(path) is no array"] }
            guard let items = schema["items"] else { return [] }
            return elements.flatMap { check($0, items, at: "\(path)[]", &used) }
        case "object":
            guard let document = value.documentValue else { return ["\(path) is no object"] }
            guard let properties = schema["properties"]?.map else { return [] }
            var problems = (schema["required"]?.texts ?? []).filter { document[$0] == nil }.map {
                "\(path).\($0) is missing"
            }
            for field in document.fields {
                used.insert("\(path).\(field.key)")
                guard let property = properties[field.key] else {
                    problems.append("\(path).\(field.key) is not declared")
                    continue
                }
                problems += check(field.value, property, at: "\(path).\(field.key)", &used)
            }
            return problems
        default: return []
        }
    }

    private func collect(_ schema: YAML, at path: String, _ declared: inout Set<String>) {
        if let name = schema["$ref"]?.text, isScalar(name) != nil { return }
        for (name, property) in resolved(schema)?["properties"]?.map ?? [:] {
            declared.insert("\(path).\(name)")
            collect(property, at: "\(path).\(name)", &declared)
        }
    }
}
