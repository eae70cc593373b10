import DocumentModel
import SyncEngine

/// What happens to servers, devices and rights.
extension SimulatedWorld {
    mutating func saveOrRestoreServer(underSockets: Bool) {
        guard let backup, Bool.random(using: &generator) else {
            if isTraced { trace.append("the server is backed up at \(server.head)") }
            return backup = server.backUp()
        }
        if !underSockets { for index in devices.indices { disconnect(index) } }
        strays = []
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
        devices[index] = SimulatedDevice(id: devices[index].id)
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

    mutating func forbid(_ index: Int) {
        server.forbidden.insert(devices[index].id)
        if isTraced { trace.append("\(devices[index].id) is revoked") }
        happened(.revoked)
        guard var link = links[index] else { return }
        link.access = .none
        link.perform(link.subscription?.revoked(reason: "notPermitted") ?? [], feedEnd: server.feed.count)
        links[index] = link
    }

    mutating func permit(_ index: Int) {
        server.forbidden.remove(devices[index].id)
        links[index]?.access = .write
        if devices[index].isRevoked, links[index] != nil { open(index) }
        devices[index].isRevoked = false
    }

    mutating func suspend(_ index: Int) {
        guard var link = links[index] else { return }
        if isTraced { trace.append("\(devices[index].id) is suspended") }
        happened(.suspended)
        link.perform(link.subscription?.suspend() ?? [], feedEnd: server.feed.count)
        link.isSuspended = true
        links[index] = link
    }

    mutating func resume(_ index: Int) {
        guard var link = links[index], link.isSuspended else { return }
        if isTraced { trace.append("\(devices[index].id) is resumed") }
        link.isSuspended = false
        let queued = link.queued
        link.perform(link.subscription?.resume(queued: queued) ?? [], feedEnd: server.feed.count)
        links[index] = link
    }

    mutating func commitStray() {
        let stray = strays.removeFirst()
        happened(.straying)
        _ = commit(stray.changeset, device: stray.device, at: stray.time)
    }

    mutating func commit(_ changeset: Changeset, device: String, at time: HybridTime) -> UploadResult {
        let result = server.commit(changeset, device: device, at: time)
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
