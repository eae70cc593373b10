import DocumentModel
import RealmMessages
import RealmSync

extension RealmTraceReplay {
    /// Waits for what the trace's server has sent next.
    func expect(_ message: RealmMessage, _ index: Int) async throws {
        let session = try session(message.session)
        switch message.name {
        case "ident": while session.ident == nil { try await receive("IDENT") }
        case "download": try await expectDownload(message, in: session, index)
        // The server may have answered earlier ones that the trace's server has passed over.
        case "mark": while !session.hasAnswered(message.numbers[1]) { try await receive(message.line) }
        case "unbound": while !session.isUnbound { try await receive("UNBOUND") }
        case "json_error":
            while session.errors.isEmpty { try await receive(message.line) }
            try compare(session.errors.removeFirst(), with: message)
            if let version = message.json["rejectedClientVersion"]?.int64Value { session.world.refuse(UInt64(version)) }
        default: throw RealmTraceMismatch("an unknown message")
        }
        if message.name == "unbound" { try demand(session.errors.isEmpty, "errors that the trace doesn't have") }
    }

    private func expectDownload(_ message: RealmMessage, in session: RealmTraceSession, _ index: Int) async throws {
        if !isPerformed(index) {
            // What undoes a write is the server's; what other clients have uploaded was the replayed client once.
            for changeset in try RealmMessage.downloaded(message.body) where changeset.origin == 1 {
                try session.world.apply(try changeset.decoded())
            }
        }
        if isMark(index + 1, in: session.number) {
            session.deferred.append(message)
        } else {
            try await complete(message, in: session, index)
        }
    }

    /// Waits until the client has what a download of the trace brings.
    func complete(_ download: RealmMessage, in session: RealmTraceSession, _ index: Int) async throws {
        while let lack = session.lack(of: download) { try await receive("what the client lacks: \(lack)") }
        guard let file = session.file else { return }
        session.deferred.removeAll { $0.line == download.line }
        try compareForeign(of: download, in: session, file)
        file.reach(download.numbers[1])
    }

    /// The changesets of other clients have the instructions that they have uploaded, and are as old: there is nothing that would change
    /// them. Their strings may stand elsewhere in the bytes. Those that only make classes don't come: the history begins with all classes
    /// that the app has.
    private func compareForeign(
        of download: RealmMessage, in session: RealmTraceSession, _ file: RealmTraceFile
    ) throws {
        let expected = try RealmMessage.downloaded(download.body).filter {
            try $0.origin > 1 && !$0.decoded().isOfSchema
        }
        let found = file.foreign
        try demand(
            found.count == expected.count,
            "\(found.count) changesets of other clients instead of \(expected.count)")
        for (found, expected) in zip(found, expected) {
            let wanted = try RealmSync.Changeset(session.world.bytes(expected.bytes))
            try demand(
                try found.isSame(as: wanted, of: expected.time),
                "\(found) instead of \(expected)")
        }
        file.foreign = []
    }

    // MARK: Errors

    /// An error has the trace's fields. Its texts are for people, the versions of the history are others.
    private func compare(_ error: RealmMessage, with expected: RealmMessage) throws {
        let found = error.json, wanted = expected.json
        let report = "\(error.line) \(ExtendedJSON.print(found))"
        try demand(error.numbers[0] == expected.numbers[0] && error.numbers[2] == expected.numbers[2], report)
        try demand(error.numbers[1] == UInt64(error.body.count), report)
        try demand(
            Set(found.fields.map(\.key)) == Set(wanted.fields.map(\.key)), "\(report) has other fields than the trace's"
        )
        for field in ["action", "tryAgain", "shouldClientReset", "isRecoveryModeDisabled"] {
            try demand(
                found[field].map { $0.isIdentical(to: wanted[field] ?? .null) } == true, "\(report): \(field)")
        }
        for field in ["message", "logURL"] { try demand(found[field]?.stringValue != nil, "\(report): \(field)") }
        try demand(found["rejectedClientVersion"]?.int64Value == wanted["rejectedClientVersion"]?.int64Value, report)
        let rejected = objects(found), wantedObjects = objects(wanted)
        try demand(rejected == wantedObjects, "\(report) doesn't reject \(wantedObjects)")
    }

    /// The classes and keys of the objects that an error rejects.
    private func objects(_ error: Document) -> [[String?]] {
        error["rejectedUpdates"]?.arrayValue?.map { [$0["table"]?.stringValue, $0["pk"]?.stringValue] } ?? []
    }
}
