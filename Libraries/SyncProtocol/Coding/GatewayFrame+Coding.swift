import DocumentModel
import SyncEngine

extension GatewayFrame {
    /// Parses a frame.
    ///
    /// - Parameter limit: The largest frame in bytes.
    /// - Throws: `badFrame`, `frameTooLarge` or `unknownPartition`. No input crashes it.
    public init(
        _ bytes: UnsafeRawBufferPointer, limit: Int = FrameLimits.defaultBytes
    ) throws(SyncProtocolError) {
        let (type, fields) = try FrameParser.parse(bytes, limit: limit)
        switch type {
        case "welcome": self = .welcome(try Welcome(fields))
        case "subscribed": self = .subscribed(try Subscribed(fields))
        case "ack": self = .ack(try Acknowledgement(fields))
        case "access":
            self = .access(
                partition: try fields.partition(),
                try fields.require("access", Access(rawValue: try fields.string("access")), "read or write"))
        case "forked":
            self = .forked(
                partition: try fields.partition(), version: try fields.integer("version", atLeast: 1))
        case "rejected": self = .rejected(try Rejection(fields))
        case "download": self = .download(partition: try fields.partition(), try Download(fields))
        case "revoked": self = .revoked(partition: try fields.partition(), reason: try fields.string("reason"))
        case "presence": self = .presence(try PresenceReport(fields))
        case "error": self = .error(try ErrorReport(fields))
        case "pong": self = .pong
        default: throw FrameParser.unknown()
        }
    }

    /// Parses a frame.
    public init(_ bytes: [UInt8], limit: Int = FrameLimits.defaultBytes) throws(SyncProtocolError) {
        self = try bytes.withUnsafeBufferPointer { (bytes) throws(SyncProtocolError) in
            try GatewayFrame(UnsafeRawBufferPointer(bytes), limit: limit)
        }
    }

    /// The frame's text, as UTF-8. A gateway encodes its downloads from stored text with ``DownloadEncoder`` instead.
    /// - Parameter isCompact: Whether the device reads compact downloads.
    public func encoded(isCompact: Bool = false) -> [UInt8] {
        var writer = FrameWriter(type: type)
        switch self {
        case .welcome(let welcome): welcome.write(to: &writer)
        case .subscribed(let subscribed): subscribed.write(to: &writer)
        case .ack(let acknowledgement): acknowledgement.write(to: &writer)
        case .access(let partition, let access):
            writer.field("partition", partition.text)
            writer.field("access", access.rawValue)
        case .forked(let partition, let version):
            writer.field("partition", partition.text)
            writer.field("version", version)
        case .rejected(let rejection): rejection.write(to: &writer)
        case .download(let partition, let download):
            return DownloadEncoder.encode(download, partition: partition, isCompact: isCompact)
        case .revoked(let partition, let reason):
            writer.field("partition", partition.text)
            writer.field("reason", reason)
        case .presence(let report): report.write(to: &writer)
        case .error(let report): report.write(to: &writer)
        case .pong: break
        }
        return writer.finished()
    }
}

extension GatewayFrame.Welcome {
    fileprivate init(_ fields: FrameReader) throws(SyncProtocolError) {
        let limits = try fields.reader("limits")
        self.init(
            session: try fields.string("session"), serverTime: try fields.integer("serverTime"),
            limits: GatewayFrame.Limits(
                frameBytes: try limits.integer("frameBytes", atLeast: 1),
                uploadWindow: try limits.integer("uploadWindow", atLeast: 1),
                subscriptions: try limits.integer("subscriptions", atLeast: 1),
                idleSeconds: try limits.integer("idleSeconds", atLeast: 1)))
    }

    fileprivate func write(to writer: inout FrameWriter) {
        writer.field("session", session)
        writer.field("serverTime", serverTime)
        writer.object("limits") { writer in
            writer.field("frameBytes", limits.frameBytes)
            writer.field("uploadWindow", limits.uploadWindow)
            writer.field("subscriptions", limits.subscriptions)
            writer.field("idleSeconds", limits.idleSeconds)
        }
    }
}

extension GatewayFrame.Subscribed {
    fileprivate init(_ fields: FrameReader) throws(SyncProtocolError) {
        self.init(
            partition: try fields.partition(),
            access: try fields.require("access", Access(rawValue: try fields.string("access")), "read or write"),
            head: try fields.revision("head"), lastVersion: try fields.integer("lastVersion"),
            holds: try fields.optionalString("holds").map { (text) throws(SyncProtocolError) in
                try fields.require("holds", Holdings.Comparison(rawValue: text), "same or different")
            })
    }

    fileprivate func write(to writer: inout FrameWriter) {
        writer.field("partition", partition.text)
        writer.field("access", access.rawValue)
        writer.field("head", head)
        writer.field("lastVersion", lastVersion)
        if let holds { writer.field("holds", holds.rawValue) }
    }
}

extension GatewayFrame.Acknowledgement {
    fileprivate init(_ fields: FrameReader) throws(SyncProtocolError) {
        self.init(
            partition: try fields.partition(), version: try fields.integer("version", atLeast: 1),
            revision: try fields.revision("revision"),
            lost: fields.has("lost") ? try fields.objects("lost", LostWrite.init) : [])
    }

    fileprivate func write(to writer: inout FrameWriter) {
        writer.field("partition", partition.text)
        writer.field("version", version)
        writer.field("revision", revision)
        if lost.isEmpty { return }
        writer.array("lost") { writer in
            for write in lost {
                writer.element { writer in
                    writer.field("operation", Int64(write.operation))
                    writer.field("reason", write.reason.rawValue)
                    if write.paths.isEmpty { return }
                    writer.array("paths") { writer in
                        for path in write.paths { writer.element(path) }
                    }
                }
            }
        }
    }
}

extension LostWrite {
    fileprivate init(_ fields: FrameReader) throws(SyncProtocolError) {
        self.init(
            operation: Int(clamping: try fields.integer("operation")),
            reason: try fields.require(
                "reason", Reason(rawValue: try fields.string("reason")), "overwritten or deleted"),
            paths: fields.has("paths") ? try fields.strings("paths") : [])
    }
}

extension GatewayFrame.Rejection {
    fileprivate init(_ fields: FrameReader) throws(SyncProtocolError) {
        let reason = try fields.reader("reason")
        self.init(
            partition: try fields.partition(), version: try fields.integer("version", atLeast: 1),
            reason: OperationRejection(
                code: OperationRejection.Code(rawValue: try reason.name("code")),
                reason: try reason.string("message", limit: 64 << 10),
                path: try reason.optionalString("path", limit: 64 << 10), rule: try reason.optionalString("rule")))
    }

    fileprivate func write(to writer: inout FrameWriter) {
        writer.field("partition", partition.text)
        writer.field("version", version)
        writer.object("reason") { writer in
            writer.field("code", reason.code.rawValue)
            writer.field("message", reason.reason)
            if let path = reason.path { writer.field("path", path) }
            if let rule = reason.rule { writer.field("rule", rule) }
        }
    }
}

extension GatewayFrame.PresenceReport {
    fileprivate init(_ fields: FrameReader) throws(SyncProtocolError) {
        self.init(
            user: try fields.name("user"), state: try fields.name("state"), lastSeen: try fields.integer("lastSeen"),
            data: fields.has("data") ? try fields.object("data") : nil)
    }

    fileprivate func write(to writer: inout FrameWriter) {
        writer.field("user", user)
        writer.field("state", state)
        writer.field("lastSeen", lastSeen)
        if let data { writer.field("data", data) }
    }
}

extension GatewayFrame.ErrorReport {
    fileprivate init(_ fields: FrameReader) throws(SyncProtocolError) {
        self.init(
            code: SyncErrorCode(rawValue: try fields.name("code")),
            message: try fields.string("message", limit: 64 << 10),
            action: try fields.require(
                "action", DeviceConnection.Remedy(rawValue: try fields.string("action")),
                "retry, reauthenticate, close or wait"),
            partition: fields.has("partition") ? try fields.partition() : nil,
            offset: fields.has("offset") ? try fields.integer("offset") : nil,
            retryAfter: fields.has("retryAfter")
                ? .milliseconds(try fields.integer("retryAfter", atLeast: 0)) : nil)
    }

    fileprivate func write(to writer: inout FrameWriter) {
        writer.field("code", code.rawValue)
        writer.field("message", message)
        writer.field("action", action.rawValue)
        if let partition { writer.field("partition", partition.text) }
        if let offset { writer.field("offset", offset) }
        if let retryAfter { writer.field("retryAfter", Int64(retryAfter / .milliseconds(1))) }
    }
}
