import DocumentModel
import RealmClientModel
import RealmMessages
import RealmSync

extension RealmSimulation {
    /// The connection of a client, if it has one.
    private func session(of client: Int) -> SimulatedRealmSession? {
        clients[client].connection.flatMap { gateways[$0.gateway].sessions[$0.number] }
    }

    mutating func change(_ client: Int) {
        guard !clients[client].model.objects.schema.classes.isEmpty,
            clients[client].model.objects.objects[edits.visits] != nil
        else { return }
        do {
            let version = clients[client].model.version
            let n = try edits.change(&clients[client].model, &generator)
            if n != 0 {
                added += n
                clients[client].additions[clients[client].model.version] = n
            }
            if isTraced {
                trace.append("client \(client) makes version \(version + 1)\(n == 0 ? "" : ", which adds \(n)")")
            }
        } catch { fail("client \(client) can't change: \(error)") }
    }

    mutating func sendUploads(_ client: Int) {
        guard let connection = clients[client].connection, session(of: client)?.isLost == false,
            clients[client].model.file != nil
        else { return }
        send(clients[client].model.upload(), over: connection)
        if isTraced { trace.append("client \(client) sends its uploads") }
    }

    mutating func sendMark(_ client: Int) {
        guard let connection = clients[client].connection, clients[client].model.file != nil else { return }
        clients[client].request += 1
        send(RealmMessage.mark(clients[client].request), over: connection)
    }

    private mutating func send(_ bytes: [UInt8], over connection: (gateway: Int, number: Int)) {
        gateways[connection.gateway].sessions[connection.number]?.toGateway.append(bytes)
    }

    mutating func connect(_ client: Int) {
        guard clients[client].connection == nil else { return }
        let gateway = number(0..<gateways.count)
        connections += 1
        clients[client].connection = (gateway, connections)
        gateways[gateway].sessions[connections] = SimulatedRealmSession(
            number: connections, client: client, user: clients[client].user)
        let needsFile = clients[client].model.file == nil
        send(RealmMessage.bind(Partition(text: "s:p"), needsIdent: needsFile), over: (gateway, connections))
        if !needsFile { send(clients[client].model.ident(), over: (gateway, connections)) }
        if isTraced { trace.append("client \(client) connects to gateway \(gateway), connection \(connections)") }
    }

    /// The client loses its connection. What the gateway has received, it still handles, and it may learn of it later.
    mutating func cut(_ client: Int) {
        guard let (gateway, number) = clients[client].connection else { return }
        clients[client].connection = nil
        gateways[gateway].sessions[number]?.isLost = true
        gateways[gateway].sessions[number]?.toClient = []
        let arrives = self.number(0..<3)
        let sent = gateways[gateway].sessions[number]?.toGateway ?? []
        gateways[gateway].sessions[number]?.toGateway = Array(sent.prefix(arrives))
        note(.cut)
        if isTraced { trace.append("client \(client) loses connection \(number)") }
    }

    @discardableResult
    mutating func deliver(toClient client: Int) -> Bool {
        guard let (gateway, number) = clients[client].connection else { return false }
        guard let session = gateways[gateway].sessions[number] else {
            // The gateway has closed it.
            clients[client].connection = nil
            return true
        }
        guard !session.toClient.isEmpty, isSettling || !clients[client].isSlow else { return false }
        let message = RealmMessage(gateways[gateway].sessions[number]?.toClient.removeFirst() ?? [])
        if isTraced { trace.append("client \(client) receives \(message.name) \(message.numbers)") }
        do { try take(message, client, session) } catch { fail("client \(client) refuses \(message.name): \(error)") }
        // It has drained.
        if gateways[gateway].sessions[number]?.toClient.isEmpty == true { wake(number, of: gateway) }
        return true
    }

    private mutating func take(_ message: RealmMessage, _ client: Int, _ session: SimulatedRealmSession) throws {
        guard let connection = clients[client].connection else { return }
        switch message.name {
        case "ident":
            clients[client].model.file = (message.numbers[1], message.numbers[2])
            if clients[client].model.downloaded.server == 0 { note(.begun) }
            send(clients[client].model.ident(), over: connection)
        case "download":
            checkAcknowledgement(message.numbers[5], at: message.numbers[1], client)
            if let answer = try clients[client].model.take(message) { send(answer, over: connection) }
        case "mark":
            clients[client].answered = message.numbers[1]
            let version = session.marks[message.numbers[1]].flatMap { database.version(covering: $0) }
            if scenario.mishaps.contains(.restore) { return }
            guard let version, clients[client].model.downloaded.server >= UInt64(version) else {
                return fail("a mark is answered at \(clients[client].model.downloaded), \(String(describing: version))")
            }
        case "json_error": take(error: message, client)
        default: fail("client \(client) receives \(message.name)")
        }
    }

    /// What is acknowledged is in the history, and in what the client was sent of it: otherwise the client wouldn't be seen to be another
    /// history's when the database goes back to before it.
    private mutating func checkAcknowledgement(_ version: UInt64, at cursor: UInt64, _ client: Int) {
        guard let file = clients[client].model.file, !scenario.mishaps.contains(.restore) else { return }
        let isAhead = database.entries.contains {
            $0.file == Int64(file.ident) && $0.clientVersion <= Int64(version) && $0.version > Int64(cursor)
        }
        if isAhead { fail("version \(version) of client \(client) is acknowledged before it is sent in the history") }
        guard let pending = clients[client].model.pending.last(where: { $0.clientVersion <= version }) else { return }
        // Another gateway may have ended the history after that, for a new version of the app.
        if scenario.mishaps.contains(.redeployments), database.files[Int64(file.ident)] == nil { return }
        if (database.files[Int64(file.ident)]?.clientVersion ?? 0) < Int64(pending.clientVersion) {
            fail("version \(pending.clientVersion) of client \(client) is acknowledged, and isn't in the history")
        }
    }

    private mutating func take(error message: RealmMessage, _ client: Int) {
        let json = message.json, action = json["action"]?.stringValue
        if action == "Warning", let version = json["rejectedClientVersion"]?.int64Value {
            if !scenario.mishaps.contains(where: { $0 == .revocation || $0 == .redeployments }) {
                fail("a write is refused: \(json)")
            }
            added -= clients[client].additions.removeValue(forKey: UInt64(version)) ?? 0
            return note(.refused)
        }
        if let (gateway, number) = clients[client].connection { stop(number, of: gateway) }
        clients[client].connection = nil
        switch action {
        case "Transient": break
        case "ApplicationBug" where message.numbers.first == 206: note(.revoked)
        case "ClientReset"
        where scenario.mishaps.contains { $0 == .restore || $0 == .forgottenFiles || $0 == .redeployments }:
            note(.reset)
            clients[client].model = RealmClientModel()
            clients[client].additions = [:]
        default: fail("client \(client) gets the error \(message.numbers) \(json)")
        }
    }
}
