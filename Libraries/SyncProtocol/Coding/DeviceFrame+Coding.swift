import DocumentModel
import SyncEngine

extension DeviceFrame {
    /// Parses a frame.
    ///
    /// - Parameter limit: The largest frame in bytes; `FrameLimits.controlBytes` for all but uploads.
    /// - Throws: `badFrame`, `frameTooLarge`, `unknownPartition` or `unsupportedProtocol`. No input crashes it.
    public init(
        _ bytes: UnsafeRawBufferPointer, limit: Int = FrameLimits.defaultBytes
    ) throws(SyncProtocolError) {
        let isUpload = bytes.count <= FrameLimits.controlBytes || FrameParser.begins(bytes, as: "upload")
        let (type, fields) = try FrameParser.parse(
            bytes, limit: isUpload ? limit : min(limit, FrameLimits.controlBytes))
        switch type {
        case "hello": self = .hello(try Hello(fields))
        case "subscribe":
            self = .subscribe(
                partition: try fields.partition(), checkpoint: try fields.revision("checkpoint"),
                resume: try fields.optionalString("resume", limit: ResumeToken.maximumBytes),
                holds: try fields.optionalString("holds").map { (text) throws(SyncProtocolError) in
                    try fields.require("holds", Holdings(text), "a count, a slash and 16 hexadecimal digits")
                })
        case "unsubscribe": self = .unsubscribe(partition: try fields.partition())
        case "upload": self = .upload(try Upload(fields))
        case "presence": self = .presence(try PresenceUpdate(fields))
        case "token": self = .token(accessToken: try fields.string("accessToken", limit: 16 << 10))
        case "ping": self = .ping
        default: throw FrameParser.unknown()
        }
    }

    /// Parses a frame.
    public init(_ bytes: [UInt8], limit: Int = FrameLimits.defaultBytes) throws(SyncProtocolError) {
        self = try bytes.withUnsafeBufferPointer { (bytes) throws(SyncProtocolError) in
            try DeviceFrame(UnsafeRawBufferPointer(bytes), limit: limit)
        }
    }

    /// The frame's text, as UTF-8.
    public func encoded() -> [UInt8] {
        var writer = FrameWriter(type: type)
        switch self {
        case .hello(let hello): hello.write(to: &writer)
        case .subscribe(let partition, let checkpoint, let resume, let holds):
            writer.field("partition", partition.text)
            writer.field("checkpoint", checkpoint)
            if let resume { writer.field("resume", resume) }
            if let holds { writer.field("holds", holds.text) }
        case .unsubscribe(let partition): writer.field("partition", partition.text)
        case .upload(let upload): upload.write(to: &writer)
        case .presence(let presence): presence.write(to: &writer)
        case .token(let accessToken): writer.field("accessToken", accessToken)
        case .ping: break
        }
        return writer.finished()
    }
}

extension DeviceFrame.Hello {
    fileprivate init(_ fields: FrameReader) throws(SyncProtocolError) {
        let protocolName = try fields.string("protocol")
        if protocolName != SyncProtocolVersion.name {
            throw SyncProtocolError(
                code: .unsupportedProtocol, message: "this gateway speaks \(SyncProtocolVersion.name)")
        }
        self.init(
            protocolName: protocolName, device: try fields.key("device"),
            token: try fields.string("token", limit: 16 << 10),
            schemaVersion: fields.has("schemaVersion") ? try fields.integer("schemaVersion") : 0,
            readsCompact: fields.has("compact") ? try fields.bool("compact") : false)
    }

    fileprivate func write(to writer: inout FrameWriter) {
        writer.field("protocol", protocolName)
        writer.field("device", device)
        writer.field("token", token)
        writer.field("schemaVersion", schemaVersion)
        if readsCompact { writer.field("compact", true) }
    }
}

extension DeviceFrame.Upload {
    fileprivate init(_ fields: FrameReader) throws(SyncProtocolError) {
        self.init(
            partition: try fields.partition(), sentAt: try fields.integer("sentAt", atLeast: .min),
            changesets: try fields.objects("changesets", Changeset.init))
        var last: Int64 = 0
        for changeset in changesets {
            if changeset.version <= last { throw fields.wrong("changesets", "in the order of their versions") }
            last = changeset.version
        }
    }

    fileprivate func write(to writer: inout FrameWriter) {
        writer.field("partition", partition.text)
        writer.field("sentAt", sentAt)
        writer.array("changesets") { writer in
            for changeset in changesets { writer.element(changeset.write) }
        }
    }
}

extension DeviceFrame.PresenceUpdate {
    fileprivate init(_ fields: FrameReader) throws(SyncProtocolError) {
        let data = fields.has("data") ? try fields.object("data") : nil
        if let data, ExtendedJSON.print(data).utf8.count > Self.dataBytes {
            throw fields.wrong("data", "at most \(Self.dataBytes) bytes long")
        }
        self.init(
            state: try fields.name("state"), data: data,
            watch: fields.has("watch") ? try fields.names("watch") : nil)
    }

    fileprivate func write(to writer: inout FrameWriter) {
        writer.field("state", state)
        if let data { writer.field("data", data) }
        if let watch {
            writer.array("watch") { writer in
                for user in watch { writer.element(user) }
            }
        }
    }
}
