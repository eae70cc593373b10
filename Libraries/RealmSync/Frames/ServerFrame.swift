import DocumentModel

/// A message of the server (Realm sync protocol, versions 2 to 14, partition-based).
public enum ServerFrame: Hashable, Sendable {
    /// The number of a client's file, and a secret that the client shows with it. Both are positive.
    case ident(session: UInt64, fileIdent: UInt64, salt: UInt64)
    /// What the client doesn't have, and what is acknowledged.
    case download(DownloadFrame)
    /// Everything that there was when the client asked has been sent.
    case mark(session: UInt64, request: UInt64)
    /// A session has ended. Not sent after an error.
    case unbound(session: UInt64)
    /// The answer to `ping`, with its time.
    case pong(timestamp: UInt64)
    /// An error of a session; of the connection with session 0.
    case error(session: UInt64, SessionError)
    /// A line for the client's log.
    case logMessage(session: UInt64, level: String, message: String, connection: String)
}

/// `DOWNLOAD`.
public struct DownloadFrame: Hashable, Sendable {
    public var session: UInt64
    /// The changesets and the cursors of the client.
    public var changesets: DownloadedChangesets
    /// The newest version of the history, with its salt.
    public var latestServerVersion: UInt64
    public var latestServerVersionSalt: UInt64
    /// The version of the history on which the newest acknowledged version of the client is based.
    public var uploadServerVersion: UInt64
    /// How many bytes of changesets remain, for the app's display of progress.
    public var downloadableBytes: UInt64

    public init(
        session: UInt64, changesets: DownloadedChangesets, latestServerVersion: UInt64,
        latestServerVersionSalt: UInt64, uploadServerVersion: UInt64, downloadableBytes: UInt64 = 0
    ) {
        self.session = session
        self.changesets = changesets
        self.latestServerVersion = latestServerVersion
        self.latestServerVersionSalt = latestServerVersionSalt
        self.uploadServerVersion = uploadServerVersion
        self.downloadableBytes = downloadableBytes
    }

    /// The changesets as they are sent, compressed if that makes them shorter.
    /// - Parameter deflate: Compresses to a zlib stream (RFC 1950); nil if that isn't possible.
    public func body(deflate: (_ bytes: [UInt8]) -> [UInt8]? = ZlibStream.deflate) -> FrameBody {
        var content: [UInt8] = []
        for changeset in changesets.changesets {
            // The size is there twice: the first is that before a compaction of the history, which isn't done.
            let numbers = [
                changeset.serverVersion, changeset.clientVersion, changeset.originTimestamp, changeset.originFileIdent,
                UInt64(changeset.bytes.count), UInt64(changeset.bytes.count),
            ]
            for number in numbers { content += "\(number) ".utf8 }
            content += changeset.bytes
        }
        return FrameBody(content, deflate: deflate)
    }

    /// The message's bytes, for one binary frame of the WebSocket.
    /// - Parameter body: Its ``body(deflate:)``.
    public func encoded(_ body: FrameBody) -> [UInt8] {
        let numbers = [
            session, changesets.serverVersion, changesets.clientVersion, latestServerVersion, latestServerVersionSalt,
            changesets.uploadClientVersion, uploadServerVersion, downloadableBytes, body.isCompressed ? 1 : 0,
            UInt64(body.size), body.isCompressed ? UInt64(body.bytes.count) : 0,
        ]
        return ServerFrame.line("download", numbers) + body.bytes
    }
}

extension ServerFrame {
    /// The first version with errors as JSON.
    private static let versionOfJSONErrors = 4
    /// The first version with lines for the log.
    private static let versionOfLogMessages = 10

    /// The message's bytes, for one binary frame of the WebSocket.
    /// - Parameters:
    ///   - version: That of the connection's protocol.
    ///   - deflate: Compresses to a zlib stream (RFC 1950); nil if that isn't possible.
    /// - Returns: nil if that version doesn't have the message: it isn't sent then.
    public func encoded(
        version: Int, deflate: (_ bytes: [UInt8]) -> [UInt8]? = ZlibStream.deflate
    ) -> [UInt8]? {
        switch self {
        case .ident(let session, let fileIdent, let salt): Self.line("ident", [session, fileIdent, salt])
        case .download(let frame): frame.encoded(frame.body(deflate: deflate))
        case .mark(let session, let request): Self.line("mark", [session, request])
        case .unbound(let session): Self.line("unbound", [session])
        case .pong(let timestamp): Self.line("pong", [timestamp])
        case .error(let session, let error) where version < Self.versionOfJSONErrors:
            Self.text(
                "error", [UInt64(error.code.rawValue)], Array(error.message.utf8), [error.triesAgain ? 1 : 0, session])
        case .error(let session, let error):
            Self.text("json_error", [UInt64(error.code.rawValue)], error.json, [session])
        case .logMessage(let session, let level, let message, let connection):
            version < Self.versionOfLogMessages
                ? nil
                : Self.logMessage(
                    session, ["level": .string(level), "msg": .string(message), "co_id": .string(connection)])
        }
    }

    private static func logMessage(_ session: UInt64, _ document: Document) -> [UInt8] {
        text("log_message", [session], Array(ExtendedJSON.print(document, mode: .relaxed).utf8), [])
    }

    /// A message with a text, whose size is among the numbers.
    private static func text(_ name: String, _ before: [UInt64], _ text: [UInt8], _ after: [UInt64]) -> [UInt8] {
        line(name, before + [UInt64(text.count)] + after) + text
    }

    fileprivate static func line(_ name: String, _ numbers: [UInt64]) -> [UInt8] {
        var line = Array(name.utf8)
        for number in numbers { line += " \(number)".utf8 }
        line.append(UInt8(ascii: "\n"))
        return line
    }
}
