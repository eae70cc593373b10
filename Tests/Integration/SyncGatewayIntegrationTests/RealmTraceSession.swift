import DocumentModel
import RealmMessages

/// A session of a replayed client: what the server has answered in it, and whether it may.
final class RealmTraceSession {
    let number: UInt64
    let world: RealmTraceWorld
    /// The number and the secret of a file, if the server was asked for them.
    private(set) var ident: RealmMessage?
    var file: RealmTraceFile?
    private(set) var hasDownloaded = false
    /// The errors that came and weren't compared.
    var errors: [RealmMessage] = []
    private(set) var isUnbound = false
    private var hasFailed = false
    private var sentMarks: [UInt64] = []
    private var answeredMarks: [UInt64] = []
    /// Downloads of the trace that came before a `MARK` that the client has sent without waiting for them: nothing in a download leads
    /// to it. They have to be there before its answer is.
    var deferred: [RealmMessage] = []

    init(_ number: UInt64, in world: RealmTraceWorld) {
        self.number = number
        self.world = world
    }

    // MARK: What the client sends

    func sendMark(_ request: UInt64) { sentMarks.append(request) }

    // MARK: What the server sends

    func take(_ message: RealmMessage) throws {
        try demand(!isUnbound, "\(message.line) after UNBOUND")
        try demand(!hasFailed, "\(message.line) after an error that ended the session")
        switch message.name {
        case "ident":
            try demand(ident == nil && file == nil, "\(message.line), though the client has a file")
            try demand(
                message.numbers.count == 3 && message.numbers[1] > 1 && message.numbers[2] > 0,
                "\(message.line) names no client file")
            ident = message
        case "download":
            guard let file else { throw RealmTraceMismatch("\(message.line) before IDENT") }
            try file.take(message)
            hasDownloaded = true
        case "mark": try takeMark(message)
        case "json_error":
            errors.append(message)
            if message.numbers[0] == 231 {
                guard let file, let version = message.json["compensatingWriteServerVersion"]?.int64Value else {
                    throw RealmTraceMismatch("\(message.line) doesn't say which version undoes the write")
                }
                try file.expectUndoing(at: UInt64(version))
            } else {
                hasFailed = true
            }
        case "unbound": isUnbound = true
        default: throw RealmTraceMismatch("\(message.line) isn't a message of a session")
        }
    }

    private func takeMark(_ message: RealmMessage) throws {
        let request = message.numbers[1]
        try demand(sentMarks.contains(request), "\(message.line), which the client hasn't asked for")
        try demand(request > answeredMarks.last ?? 0, "\(message.line) after \(answeredMarks)")
        for download in deferred {
            let lack = lack(of: download)
            try demand(lack == nil, "\(message.line) before all was sent: \(lack ?? "")")
        }
        answeredMarks.append(request)
    }

    func hasAnswered(_ request: UInt64) -> Bool { answeredMarks.contains(request) }

    /// What the client still lacks of what a download of the trace brings; nil if it lacks nothing.
    ///
    /// Any number of the server's downloads may bring it.
    func lack(of download: RealmMessage) -> String? {
        guard let file else { return "the session has no file" }
        if !hasDownloaded { return "no download has come in the session" }
        let numbers = download.numbers
        if file.downloaded.client != numbers[2] {
            return "the client's version \(numbers[2]) in the history; it is \(file.downloaded.client)"
        }
        // The server doesn't acknowledge an upload without new changesets.
        let due = min(numbers[5], file.acknowledgementDue)
        if file.acknowledged < due { return "the acknowledgement of \(due); it is \(file.acknowledged)" }
        if !file.isUndone { return "what undoes a refused write" }
        return world.difference(from: file.objects)
    }
}
