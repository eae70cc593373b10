import DocumentModel

// The document in a frame; its `type` is the kind of message.

extension HostRequest {
    public var document: Document {
        switch self {
        case .load(let bundle):
            return [
                "type": .string("load"), "app": .string(bundle.app), "version": .int64(bundle.version),
                "functions": Self.value(bundle.functions),
                "modules": .document(Document(fields: bundle.modules.map { .init($0.key.text, .string($0.value)) })),
            ]
        case .call(let call):
            var document: Document = [
                "type": .string("call"), "id": .int64(call.id), "function": .string(call.function),
                "arguments": .string(call.arguments.text), "context": .string(call.context),
                "cpuLimit": .double(call.cpuLimit), "turn": .string(call.turn.text),
            ]
            document["sharedLimit"] = call.sharedLimit.map { .double($0) }
            document["seed"] = call.seed.map { .int64($0) }
            document["now"] = call.now.map { .int64($0) }
            if call.arguments.isPlain { document["plain"] = true }
            if call.givesResponse { document["response"] = true }
            document["lingerLimit"] = call.lingerLimit.map { .double($0) }
            if call.watchesClock { document["watchesClock"] = true }
            return document
        case .answer(let call, let ordinal, .success(let value)):
            return [
                "type": .string("answer"), "call": .int64(call), "ordinal": .int64(ordinal), "value": value,
            ]
        case .answer(let call, let ordinal, .failure(let failure)):
            return [
                "type": .string("answer"), "call": .int64(call), "ordinal": .int64(ordinal),
                "error": .document(failure.document),
            ]
        case .end(let call): return ["type": .string("end"), "call": .int64(call)]
        case .check(let source):
            return ["type": .string("check"), "name": .string(source.name), "source": .string(source.text)]
        }
    }

    /// - Throws: `FunctionProtocolError` when the document isn't a request.
    public init(_ document: Document) throws(FunctionProtocolError) {
        switch try document.text("type") {
        case "load":
            self = .load(
                FunctionBundle(
                    app: try document.text("app"), version: try document.integer("version"),
                    functions: try Self.sources(document["functions"]), modules: Self.modules(document["modules"])))
        case "call":
            self = .call(
                FunctionCall(
                    id: try document.integer("id"), function: try document.text("function"),
                    arguments: FunctionArguments(
                        text: try document.text("arguments"), isPlain: document["plain"]?.boolValue ?? false),
                    context: try document.text("context"),
                    cpuLimit: document["cpuLimit"]?.doubleValue ?? 1,
                    sharedLimit: document["sharedLimit"]?.doubleValue,
                    turn: ExactText(document["turn"]?.stringValue ?? ""), seed: document["seed"]?.int64Value,
                    now: document["now"]?.int64Value, givesResponse: document["response"]?.boolValue ?? false,
                    lingerLimit: document["lingerLimit"]?.doubleValue,
                    watchesClock: document["watchesClock"]?.boolValue ?? false))
        case "answer":
            let call = try document.integer("call"), ordinal = try document.integer("ordinal")
            if let error = document["error"]?.documentValue {
                self = .answer(call: call, ordinal: ordinal, .failure(EffectFailure(error)))
            } else {
                self = .answer(call: call, ordinal: ordinal, .success(document["value"] ?? .null))
            }
        case "end": self = .end(call: try document.integer("call"))
        case "check":
            self = .check(.init(name: try document.text("name"), text: try document.text("source")))
        case let type:
            throw FunctionProtocolError(message: "unknown request type \(type)")
        }
    }
}

extension HostRequest {
    private static func value(_ sources: [FunctionBundle.Source]) -> Value {
        .array(sources.map { .document(["name": .string($0.name), "source": .string($0.text)]) })
    }

    private static func modules(_ value: Value?) -> [ExactText: String] {
        let fields = value?.documentValue?.fields ?? []
        return Dictionary(fields.map { (ExactText($0.key), $0.value.stringValue ?? "") }) { _, last in last }
    }

    private static func sources(_ value: Value?) throws(FunctionProtocolError) -> [FunctionBundle.Source] {
        var sources: [FunctionBundle.Source] = []
        for value in value?.arrayValue ?? [] {
            let source = value.documentValue ?? [:]
            sources.append(.init(name: try source.text("name"), text: try source.text("source")))
        }
        return sources
    }
}

extension HostReply {
    public var document: Document {
        switch self {
        case .ready: return ["type": .string("ready")]
        case .effect(let call, let effect):
            return [
                "type": .string("effect"), "call": .int64(call), "ordinal": .int64(effect.ordinal),
                "service": .string(effect.service), "action": .string(effect.action),
                "arguments": .document(effect.arguments), "function": .string(effect.function),
            ]
        case .log(let call, let line):
            var document: Document = [
                "type": .string("log"), "call": .int64(call), "level": .string(line.level),
                "message": .string(line.message),
            ]
            document["function"] = line.function.map { .string($0) }
            document["line"] = line.line.map { .int64(Int64($0)) }
            return document
        case .clockRead(let call): return ["type": .string("clockRead"), "call": .int64(call)]
        case .done(let call, let result, let cpuTime, let memory):
            return Self.document("done", call, result, cpuTime, memory)
        case .answered(let call, let result, let cpuTime, let memory):
            return Self.document("answered", call, result, cpuTime, memory)
        case .ended(let call, let failure):
            var document: Document = ["type": .string("ended"), "call": .int64(call)]
            document["error"] = failure.map { .document($0.document) }
            return document
        case .checked(let failure):
            var document: Document = ["type": .string("checked")]
            document["error"] = failure.map { .document($0.document) }
            return document
        }
    }

    private static func document(
        _ type: String, _ call: Int64, _ result: Result<Value, FunctionFailure>, _ cpuTime: Double, _ memory: Int64
    ) -> Document {
        var document: Document = [
            "type": .string(type), "call": .int64(call), "cpuTime": .double(cpuTime), "memory": .int64(memory),
        ]
        switch result {
        case .success(let value): document["value"] = value
        case .failure(let failure): document["error"] = .document(failure.document)
        }
        return document
    }

    private static func result(_ document: Document) -> Result<Value, FunctionFailure> {
        document["error"]?.documentValue.map { .failure(FunctionFailure($0)) }
            ?? .success(document["value"] ?? .undefined)
    }

    /// - Throws: `FunctionProtocolError` when the document isn't a reply.
    public init(_ document: Document) throws(FunctionProtocolError) {
        switch try document.text("type") {
        case "ready": self = .ready
        case "effect":
            self = .effect(
                call: try document.integer("call"),
                FunctionEffect(
                    ordinal: try document.integer("ordinal"), service: try document.text("service"),
                    action: try document.text("action"), arguments: document["arguments"]?.documentValue ?? [:],
                    function: try document.text("function")))
        case "log":
            self = .log(
                call: try document.integer("call"),
                ConsoleLine(
                    level: try document.text("level"), message: try document.text("message"),
                    function: document["function"]?.stringValue, line: document["line"]?.intValue))
        case "clockRead": self = .clockRead(call: try document.integer("call"))
        case "done":
            self = .done(
                call: try document.integer("call"), Self.result(document),
                cpuTime: document["cpuTime"]?.doubleValue ?? 0, memory: document["memory"]?.int64Value ?? 0)
        case "answered":
            self = .answered(
                call: try document.integer("call"), Self.result(document),
                cpuTime: document["cpuTime"]?.doubleValue ?? 0, memory: document["memory"]?.int64Value ?? 0)
        case "ended":
            self = .ended(
                call: try document.integer("call"), document["error"]?.documentValue.map { FunctionFailure($0) })
        case "checked": self = .checked(document["error"]?.documentValue.map { FunctionFailure($0) })
        case let type: throw FunctionProtocolError(message: "unknown reply type \(type)")
        }
    }
}

extension EffectFailure {
    public var document: Document {
        var document: Document = ["name": .string(name), "message": .string(message)]
        document["code"] = code.map { .int64(Int64($0)) }
        if !details.isEmpty { document["details"] = .document(details) }
        return document
    }

    public init(_ document: Document) {
        self.init(
            name: document["name"]?.stringValue ?? "Error", message: document["message"]?.stringValue ?? "",
            code: document["code"]?.intValue, details: document["details"]?.documentValue ?? [:])
    }
}

extension FunctionFailure {
    public var document: Document {
        var document: Document = ["code": .string(code.rawValue), "message": .string(message)]
        document["function"] = function.map { .string($0) }
        document["line"] = line.map { .int64(Int64($0)) }
        document["stack"] = stack.map { .string($0) }
        return document
    }

    public init(_ document: Document) {
        self.init(
            code: document["code"]?.stringValue.flatMap(Code.init) ?? .functionExecutionError,
            message: document["message"]?.stringValue ?? "", function: document["function"]?.stringValue,
            line: document["line"]?.intValue, stack: document["stack"]?.stringValue)
    }
}

/// The peer sent a message that violates this protocol.
public struct FunctionProtocolError: Error, Sendable, CustomStringConvertible {
    public let message: String
    public init(message: String) { self.message = message }
    public var description: String { "function host protocol: \(message)" }
}

extension Document {
    fileprivate func text(_ key: String) throws(FunctionProtocolError) -> String {
        guard let text = self[key]?.stringValue else { throw FunctionProtocolError(message: "no string \(key)") }
        return text
    }

    fileprivate func integer(_ key: String) throws(FunctionProtocolError) -> Int64 {
        guard let number = self[key]?.int64Value else { throw FunctionProtocolError(message: "no integer \(key)") }
        return number
    }
}
