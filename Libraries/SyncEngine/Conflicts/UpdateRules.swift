import DocumentModel
import QueryLanguage

/// The rules for the paths of one update of one existing document.
///
/// Each path of each operator is decided on its own; the writes that won are applied together by the update operators.
struct UpdateRules {
    let stored: StoredDocument
    /// The revision of the document that the writer had seen.
    let base: Revision?
    let stamp: WriteStamp
    let revision: Revision

    /// Merges an insert into the existing document: every field is a `$set`.
    func merge(_ fields: Document) -> OperationOutcome {
        // `$set` takes paths, an insert has names; a name with a dot or a leading dollar sign can't be expressed with
        // `$set`.
        if let field = fields.fields.first(where: { $0.key.utf8.contains(0x2E) || $0.key.startsWithBytes(of: "$") }) {
            return .rejected(
                OperationRejection(
                    code: .badUpdate, reason: "a field with such a name can't be merged", path: field.key))
        }
        return apply(Document(fields: [.init("$set", .document(fields))]), arrayFilters: [])
    }

    func apply(_ operators: Document, arrayFilters: [Document]) -> OperationOutcome {
        var plan = UpdatePlan()
        for field in operators.fields {
            guard field.key.startsWithBytes(of: "$"), case .document(let arguments) = field.value else {
                return .rejected(
                    OperationRejection(
                        code: .badUpdate, reason: "a device's update is made of update operators", path: field.key))
            }
            for argument in arguments.fields {
                guard UpdatePath.isShortEnough(argument.key) else {
                    return .rejected(
                        OperationRejection(
                            code: .badUpdate, reason: "a path has more than \(UpdatePath.maximumParts) parts"))
                }
                decide(field.key, argument, in: &plan)
            }
        }
        if plan.isEmpty {
            return .applied(AppliedOperation(change: .none, document: stored, lost: plan.lost))
        }
        return perform(plan, arrayFilters: arrayFilters)
    }

    private func perform(_ plan: UpdatePlan, arrayFilters: [Document]) -> OperationOutcome {
        var result = stored
        let description: UpdateDescription
        do throws(QueryError) {
            let filters = plan.lost.isEmpty ? arrayFilters : arrayFilters.filter(plan.uses)
            description = try Update(plan.operators, arrayFilters: filters)
                .apply(to: &result.document, now: stamp.time.milliseconds)
        } catch {
            return .rejected(OperationRejection(code: .badUpdate, reason: error.message))
        }
        // The present value written again is a write: one that was made before it and arrives later must lose to it. It needs a revision
        // of its own, since a device that hasn't received it hasn't seen it.
        guard !description.isEmpty || plan.writes.contains(where: isLater) else {
            return .applied(AppliedOperation(change: .none, document: stored, lost: plan.lost))
        }
        result.revision = revision
        for write in plan.writes {
            result.clocks.write(write.path, by: stamp, revision: revision, sparing: write.spared)
        }
        return .applied(
            AppliedOperation(change: .updated, document: result, updateDescription: description, lost: plan.lost))
    }

    // MARK: One path

    private func decide(_ name: String, _ argument: Document.Field, in plan: inout UpdatePlan) {
        let target = PathTarget(argument.key, in: stored.document)
        if target.isIndexed && !hasSeenExactly(stored.clocks.covering(target.clockPath)) {
            plan.lost.append(argument.key)
            return
        }
        switch name {
        case "$set", "$unset", "$currentDate":
            if target.isIndexed || target.isPositional {
                plan.keep(name, argument, writing: target.clockPath)
            } else {
                assign(name, argument, target, in: &plan)
            }
        case "$rename": rename(argument, target, in: &plan)
        case "$setOnInsert": break  // the document exists
        default: plan.keep(name, argument, writing: target.clockPath)
        }
    }

    private func assign(_ name: String, _ argument: Document.Field, _ target: PathTarget, in plan: inout UpdatePlan) {
        let clock = stored.clocks.covering(argument.key)
        guard wins(over: clock) else {
            plan.lost.append(argument.key)
            return
        }
        if let blocker = target.blockedBy, name == "$set", !hasSeen(clock) {
            // Another author replaced the document that the device saw with a plain value, before the device wrote
            // below it.
            var document = plan.planned("$set", blocker) ?? Document()
            document.set(argument.value, at: argument.key.utf8Suffix(after: blocker))
            plan.keep("$set", .init(blocker, .document(document)), writing: blocker)
            return
        }
        let newer = stored.clocks.beneath(argument.key).filter { !wins(over: $0.clock) }.map(\.path).sorted {
            ByteOrder.compare($0, $1) < 0
        }
        if newer.isEmpty {
            plan.keep(name, argument, writing: argument.key)
        } else {
            spare(newer, of: name, argument, in: &plan)
        }
    }

    /// Writes a path but keeps what was written below it later.
    private func spare(_ newer: [String], of name: String, _ argument: Document.Field, in plan: inout UpdatePlan) {
        var document: Document
        switch (name, argument.value) {
        case ("$set", .document(let value)): document = value
        case ("$unset", _): document = Document()
        default:
            // A value without fields can't contain the newer ones.
            plan.lost.append(argument.key)
            return
        }
        for path in newer {
            document.set(stored.document.value(at: path), at: path.utf8Suffix(after: argument.key))
        }
        if name == "$unset" && document.fields.isEmpty {
            plan.keep("$unset", argument, writing: argument.key, sparing: newer)
        } else {
            plan.keep("$set", .init(argument.key, .document(document)), writing: argument.key, sparing: newer)
        }
    }

    /// A rename is an `$unset` and a `$set`: it is applied only when both win.
    private func rename(_ argument: Document.Field, _ target: PathTarget, in plan: inout UpdatePlan) {
        guard case .string(let destination) = argument.value else {
            plan.keep("$rename", argument, writing: target.clockPath)  // refused by the operator itself
            return
        }
        let paths = [argument.key, destination]
        let isNewer = paths.contains { path in
            !wins(over: stored.clocks.covering(path))
                || stored.clocks.beneath(path).contains { !wins(over: $0.clock) }
        }
        if isNewer {
            plan.lost.append(argument.key)
        } else {
            plan.keep("$rename", argument, writing: argument.key)
            plan.writes.append(UpdatePlan.Write(path: PathTarget(destination, in: stored.document).clockPath))
        }
    }

    // MARK: Clocks

    private func isLater(_ write: UpdatePlan.Write) -> Bool { stored.clocks.covering(write.path).time < stamp.time }

    /// A write wins over a write that its author had seen, and over an earlier one.
    private func wins(over clock: FieldClock) -> Bool {
        hasSeen(clock) || (stamp.time, ExactText(stamp.author)) > (clock.time, ExactText(clock.author))
    }

    /// A device has seen its own writes, which arrive in the order in which it made them.
    private func hasSeen(_ clock: FieldClock) -> Bool {
        clock.author.hasSameBytes(as: stamp.author) || base.map { $0 >= clock.revision } ?? false
    }

    /// Whether the writer had seen every write of the path. An array index is meaningful only then.
    private func hasSeenExactly(_ clock: FieldClock) -> Bool {
        if let base, base >= clock.revision { return true }
        guard clock.author.hasSameBytes(as: stamp.author) else { return false }
        guard let foreign = clock.foreign else { return true }
        return base.map { $0 >= foreign } ?? false
    }
}
