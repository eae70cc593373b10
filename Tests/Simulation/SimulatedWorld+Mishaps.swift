import DocumentModel
import SyncEngine

/// What happens to servers, devices and rights.
extension SimulatedWorld {
    mutating func saveOrRestoreServer(underSockets: Bool) {
        guard let backup, Bool.random(using: &generator) else {
            if isTraced { trace.append("the server is backed up at \(server.head)") }
            return backup = server.backUp()
        }
        // What is lost may be on its way to the gateways, and stay there for long.
        for _ in 0..<2 {
            writeOnServer()
            for place in relays.indices { for _ in 0..<4 { _ = advance(relay: place, withFaults: true) } }
        }
        for place in gateways.indices where Bool.random(using: &generator) { gateways[place].isBehind = true }
        if !underSockets { for index in devices.indices { disconnect(index) } }
        // Their transactions have ended.
        strays = []
        for index in links.indices where links[index]?.uploads.isEmpty == false { links[index]?.uploads[0].open = nil }
        server.restore(backup)
        if isTraced { trace.append("the server is restored to \(server.head)") }
        happened(.restored)
    }

    mutating func saveOrRestoreDevice(_ index: Int) {
        if Int.random(in: 0..<4, using: &generator) > 0 { return deviceBackups[index] = devices[index] }
        let before = Set(devices[index].openTokens)
        disconnect(index)
        if isTraced { trace.append("\(devices[index].id) is restored") }
        devices[index] = deviceBackups[index]
        devices[index].partition.disconnected()
        goneTokens.formUnion(before)
        happened(.deviceRestored)
    }

    func isReader(_ index: Int) -> Bool { index >= devices.count - scenario.readers }

    mutating func reinstall(_ index: Int) {
        disconnect(index)
        devices[index] = SimulatedDevice(id: devices[index].id, user: devices[index].user)
        connect(index)
    }

    mutating func clone(_ index: Int) {
        let other = Int.random(in: devices.indices, using: &generator)
        guard other != index else { return }
        goneTokens.formUnion(devices[index].openTokens)
        disconnect(index)
        if isTraced { trace.append("\(devices[index].id) becomes a copy of \(devices[other].id)") }
        devices[index] = devices[other]
        devices[index].partition.disconnected()
        happened(.cloned)
    }

    /// A user's right changes, or a process of permissions ends or stands still.
    mutating func decideAgain(_ index: Int) {
        let process = Int.random(in: 0..<SimulatedPermissions.processes, using: &generator)
        switch Int.random(in: 0..<12, using: &generator) {
        case 0: return permissions.die(process)
        case 1...3: return permissions.stopOrContinue(process)
        case 4...5: return tryAgain(index)
        case 6: return revokeUnpublished(devices[index].user)
        case 7: return permissions.continueAll()
        default: break
        }
        let before = permissions.grant(of: devices[index].user, at: time)?.access ?? .none
        let access: Access = [.none, .none, .read, .write, .write].randomElement(using: &generator) ?? .none
        if isTraced { trace.append("\(devices[index].user) may \(access.rawValue)") }
        permissions.decide(access, for: devices[index].user, by: process, now: time)
        if access == .none, before != .none { happened(.revoked) }
    }

    /// The app is deployed with other rules.
    mutating func changeRules() {
        let access: Access? = [nil, nil, .read, .write].randomElement(using: &generator) ?? nil
        let process = Int.random(in: 0..<SimulatedPermissions.processes, using: &generator)
        if isTraced { trace.append("all may \(access?.rawValue ?? "what they may by rules of their own")") }
        if permissions.changeRules(to: access, by: process, now: time) { happened(.sharedGrantEnded) }
    }

    /// A process stands still with a grant that it has committed and not published, and another one revokes it.
    private mutating func revokeUnpublished(_ user: String) {
        let access: Access = permissions.mayWrite(user, at: time) == true ? .read : .write
        if isTraced { trace.append("\(user) may \(access.rawValue), which is published late, and then none") }
        permissions.decide(access, for: user, by: 0, now: time)
        permissions.stopOrContinue(0)
        permissions.decide(.none, for: user, by: 1, now: time)
        happened(.revoked)
    }

    /// The app opens a partition again that was revoked.
    mutating func tryAgain(_ index: Int) {
        guard devices[index].isRevoked, links[index] != nil else { return }
        devices[index].isRevoked = false
        open(index)
    }

    mutating func commitStray() {
        var stray = strays.removeFirst()
        happened(.straying)
        if commit(&stray) == nil { strays.append(stray) }
    }

    /// Begins the commit of a changeset, or completes it.
    /// - Returns: `nil` when it isn't complete.
    mutating func commit(_ received: inout SimulatedLink.Received) -> UploadResult? {
        let (changeset, device) = (received.changeset, received.device)
        let mayWrite = permissions.mayWrite(SimulatedServer.user(of: device), at: time)
        guard let open = received.open else {
            received.open = server.begin(changeset, device: device, at: received.time, mayWrite: mayWrite)
            return Bool.random(using: &generator) ? nil : commit(&received)
        }
        received.open = nil
        guard let result = server.finish(open, mayWrite: mayWrite) else {
            if isTraced { trace.append("\(device) uploads \(changeset.version): it begins again") }
            happened(.begunAgain)
            return nil
        }
        if isTraced { trace.append("\(device) uploads \(changeset.version): \(result), the head is \(server.head)") }
        if case .acknowledged(let acknowledgement) = result {
            let count = changeset.operations.count { $0.key == Self.tally }
            if count > 0 { tallied[ChangesetName(changeset, device: device)] = count }
            if !acknowledgement.lost.isEmpty { happened(.lostWrite) }
        }
        return result
    }

    /// Sometimes so much that the gateways can't hold it during a catch-up.
    mutating func writeOnServer() {
        let count = Int.random(in: 0..<4, using: &generator) == 0 ? 10 : 1
        for _ in 0..<count { server.set("server", .int64(time), of: randomKey(), milliseconds: time) }
    }
}
