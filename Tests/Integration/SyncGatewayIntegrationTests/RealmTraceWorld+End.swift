import RealmMessages
import RealmSync
import RealmTestClient

/// What there is at the end of a trace.
extension RealmTraceWorld {
    /// A client that comes new is sent what clients have uploaded, each once and in order; and has then what the replayed client has,
    /// which is what the trace's objects are.
    func checkNewClient() async throws {
        guard let file else { return }
        try demand(file.foreign.isEmpty, "changesets of others came that the trace doesn't have")
        if let difference = difference(from: file.objects) {
            throw RealmTraceMismatch("at the end the client lacks \(difference)")
        }
        let new = try await newClient()
        if let difference = difference(from: new.objects) {
            throw RealmTraceMismatch("a new client lacks \(difference)")
        }
        try demand(new.objects.isSame(as: file.objects), "a new client has other partition keys")
        try demand(new.objects.schema == file.objects.schema, "a new client has other classes")
        try demand(
            new.foreign.count == uploads.count,
            "a new client is sent \(new.foreign.count) changesets of clients instead of \(uploads.count)")
        for (found, upload) in zip(new.foreign, uploads) {
            try demand(
                try found.origin == upload.origin && found.isSame(as: upload.decoded(), of: upload.time),
                "a new client is sent \(found) instead of \(upload)")
        }
    }

    /// The file of a new client that has everything.
    private func newClient() async throws -> RealmTraceFile {
        let socket = try await RealmSocket(
            port: fixture.port, app: app, token: try fixture.token(user, app: app),
            offering: ["com.mongodb.realm-sync#14"], on: GatewayFixture.loops.next())
        defer { socket.close() }
        let session = RealmTraceSession(1, in: self)
        func receive() async throws {
            guard case .message(let message) = await socket.next(within: Device.patience) else {
                throw RealmTraceMismatch("the server doesn't answer a new client")
            }
            try session.take(message)
        }
        socket.send(RealmMessage.bind(partition, needsIdent: true))
        while session.ident == nil { try await receive() }
        let numbers = session.ident?.numbers ?? []
        let file = RealmTraceFile(ident: numbers[1], salt: numbers[2])
        session.file = file
        socket.send(RealmMessage.ident((file.ident, file.salt)))
        session.sendMark(1)
        socket.send(RealmMessage.mark(1))
        while !session.hasAnswered(1) { try await receive() }
        return file
    }
}
