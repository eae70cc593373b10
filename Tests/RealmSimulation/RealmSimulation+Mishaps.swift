import DocumentModel
import RealmSync

extension RealmSimulation {
    mutating func perform(_ mishap: RealmScenario.Mishap, _ client: Int, _ gateway: Int) {
        switch mishap {
        case .cuts: cut(client)
        case .slowReaders:
            clients[client].isSlow.toggle()
            if isTraced { trace.append("client \(client) reads \(clients[client].isSlow ? "nothing" : "again")") }
        case .serverWrites: writeDocument()
        case .snapshots:
            if number(0..<2) == 0 {
                database.makeSnapshot()
                note(.snapshot)
                if isTraced { trace.append("a snapshot of version \(database.standing.version)") }
            } else {
                let base = database.standing.base
                database.trim()
                if database.standing.base > base { note(.trimmed) }
                if isTraced { trace.append("the history is trimmed to \(database.standing.base)") }
            }
        case .revocation:
            let choice = number(0..<3)
            permit(clients[client].user, read: choice > 0, write: choice > 1)
        case .suspension: suspend(gateway)
        case .gatewayLost: loseGateway(gateway)
        case .forgottenFiles: forgetFile(of: client)
        case .restore: restore()
        case .redeployments: redeploy(gateway)
        }
    }

    /// The app is deployed anew, or a gateway gets to know of it.
    private mutating func redeploy(_ gateway: Int) {
        if number(0..<2) > 0 { return hear(of: app, gateway) }
        deploy(app.next(&generator))
        note(.deployed)
    }

    /// Documents of collections that sync now, or no longer, are moved into their partitions.
    mutating func deploy(_ next: SimulatedApp) {
        let moved = app.classes.symmetricDifference(next.classes)
        app = next
        if isTraced { trace.append("version \(app.version) of the app is deployed, with \(app.classes.sorted())") }
        let keys = database.documents.keys.filter { moved.contains($0.table) }
        for key in keys.sorted(by: { $0.place < $1.place }) { database.write(key, database.documents[key]) }
    }

    /// A gateway has a version of the app.
    mutating func hear(of app: SimulatedApp, _ gateway: Int) {
        if gateways[gateway].app.version == app.version { return }
        gateways[gateway].app = app
        gateways[gateway].view.tail.request()
        for number in gateways[gateway].numbers { wake(number, of: gateway) }
        if isTraced { trace.append("gateway \(gateway) has version \(app.version) of the app") }
    }

    /// A function or another device writes a document.
    private mutating func writeDocument() {
        note(.serverWrote)
        let n = Int64(number(0..<1000))
        if number(0..<3) == 0 {
            let visits = database.documents[edits.visits]?["visits"]?.int64Value ?? 0
            added += n
            database.write(edits.visits, database.object(edits.visits, ["visits": .int64(visits + n)]))
            if isTraced { trace.append("the server adds \(n)") }
            return
        }
        let key = edits.box(&generator)
        guard var document = database.documents[key] else {
            if isTraced { trace.append("the server makes \(key.place)") }
            return database.write(key, database.object(key, ["li": [7]]))
        }
        switch number(0..<4) {
        case 0:
            if isTraced { trace.append("the server erases \(key.place)") }
            return database.write(key, nil)
        case 1: document["li"] = [.int64(n), 5]
        case 2: document["di"] = ["server": .int64(n)]
        default: document["ls"] = .array((document["ls"]?.arrayValue ?? []) + ["by the server"])
        }
        if isTraced { trace.append("the server changes \(key.place)") }
        database.write(key, database.object(key, document))
    }

    /// A user gets a right, or loses it.
    mutating func permit(_ user: String, read: Bool, write: Bool) {
        database.mayWrite[user] = read ? write : nil
        for gateway in gateways.indices { gateways[gateway].grants.append((user, read, write)) }
        if isTraced { trace.append("\(user) may \(write ? "write" : read ? "read" : "nothing")") }
    }

    /// A gateway's lease ends, or begins again. What waits to be sent goes with its connections then.
    mutating func suspend(_ gateway: Int) {
        gateways[gateway].leaseIsValid.toggle()
        if isTraced { trace.append("gateway \(gateway) may \(gateways[gateway].leaseIsValid ? "serve" : "not serve")") }
        if !gateways[gateway].leaseIsValid { note(.suspended) }
        for number in gateways[gateway].numbers { wake(number, of: gateway) }
    }

    private mutating func loseGateway(_ gateway: Int) {
        gateways[gateway] = SimulatedRealmGateway(app)
        gateways[gateway].epoch = database.head.epoch
        note(.gatewayLost)
        if isTraced { trace.append("gateway \(gateway) ends") }
    }

    /// A client was away for too long.
    private mutating func forgetFile(of client: Int) {
        guard let file = clients[client].model.file, clients[client].connection == nil,
            gateways.allSatisfy({ $0.sessions.values.allSatisfy { $0.client != client } })
        else { return }
        database.forgetFile(Int64(file.ident))
        if isTraced { trace.append("the file of client \(client) is forgotten") }
    }

    /// The database goes back to a backup, while the gateways run; they notice it after a while.
    private mutating func restore() {
        if number(0..<3) == 0 {
            backup = database
            return
        }
        if number(0..<2) == 0 { return }
        database.restore(backup)
        note(.restored)
        if isTraced { trace.append("the database is restored to version \(database.standing.version)") }
    }
}
