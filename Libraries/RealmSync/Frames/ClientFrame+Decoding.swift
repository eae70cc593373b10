import Texts

extension ClientFrame {
    /// Reads a message: a line of words and numbers, and after it bytes whose number is in the line.
    /// - Throws: `FrameError`; its number is the one to close the connection with.
    public init(_ bytes: [UInt8], limits: FrameLimits = FrameLimits()) throws(FrameError) {
        guard bytes.count <= limits.messageBytes else {
            throw FrameError(
                .otherError, at: limits.messageBytes, "it has more than \(limits.messageBytes) bytes, the limit",
                isTooLarge: true)
        }
        var reader = FrameReader(bytes[...])
        let name = String(decoding: try reader.word(before: " "), as: UTF8.self)
        switch ExactText(name) {
        case "bind": self = .bind(try BindFrame(&reader, limits))
        case "ident": self = .ident(try IdentFrame(&reader))
        case "upload": self = .upload(try UploadFrame(&reader, limits))
        case "mark":
            let session = try reader.session(before: " ")
            self = .mark(session: session, request: try reader.number(before: "\n"))
        case "unbind": self = .unbind(session: try reader.session(before: "\n"))
        case "ping":
            let timestamp = try reader.number(before: " ")
            self = .ping(timestamp: timestamp, roundTrip: try reader.number(before: "\n"))
        case "json_error":
            let code = try reader.number(before: " "), size = try reader.number(before: " ")
            let session = try reader.number(before: "\n")
            self = .error(session: session, code: code, json: Array(try reader.counted(size)))
        default: throw FrameError(.unknownMessage, at: 0, "an unknown message")
        }
        try reader.end()
    }
}

extension BindFrame {
    fileprivate init(_ reader: inout FrameReader, _ limits: FrameLimits) throws(FrameError) {
        session = try reader.session(before: " ")
        let start = reader
        let pathSize = try reader.number(before: " "), tokenSize = try reader.number(before: " ")
        guard pathSize <= limits.pathBytes, tokenSize <= limits.tokenBytes else {
            throw start.fault("the partition's name or the token is longer than the limit")
        }
        needsIdent = try reader.flag(before: " ")
        let subserver = reader
        guard try !reader.flag(before: "\n") else { throw subserver.fault("no client is a server") }
        path = Array(try reader.counted(pathSize))
        token = Array(try reader.counted(tokenSize))
    }
}

extension IdentFrame {
    fileprivate init(_ reader: inout FrameReader) throws(FrameError) {
        session = try reader.session(before: " ")
        fileIdent = try reader.number(before: " ")
        fileIdentSalt = try reader.number(before: " ")
        downloadServerVersion = try reader.number(before: " ")
        downloadClientVersion = try reader.number(before: " ")
        latestServerVersion = try reader.number(before: " ")
        latestServerVersionSalt = try reader.number(before: "\n")
    }
}

extension UploadFrame {
    fileprivate init(_ reader: inout FrameReader, _ limits: FrameLimits) throws(FrameError) {
        session = try reader.session(before: " ")
        let isCompressed = try reader.flag(before: " "), start = reader
        let size = try reader.number(before: " "), compressedSize = try reader.number(before: " ")
        guard size <= limits.bytes else {
            throw start.fault("its body has more than \(limits.bytes) bytes, the limit", .otherError, isTooLarge: true)
        }
        progressClientVersion = try reader.number(before: " ")
        progressServerVersion = try reader.number(before: " ")
        lockedServerVersion = try reader.number(before: "\n")
        let bytes = Array(try reader.counted(isCompressed ? compressedSize : size))
        body = FrameBody(bytes: bytes, size: Int(size), isCompressed: isCompressed)
    }
}
