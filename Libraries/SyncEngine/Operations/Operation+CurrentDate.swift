import DocumentModel

extension Operation {
    /// The operation with `$currentDate` said as `$set`: a device's write happens when the device makes it, and shows the same
    /// time on the device before it is uploaded and on the server after.
    func withCurrentDate(_ clock: HybridTime) -> Operation {
        guard case .update(var operators, let arrayFilters) = kind,
            case .document(let arguments) = operators["$currentDate"]
        else { return self }
        var sets = operators["$set"]?.documentValue ?? Document()
        for argument in arguments.fields {
            if argument.value["$type"]?.stringValue == "timestamp" {
                let seconds = UInt32(truncatingIfNeeded: clock.milliseconds / 1000)
                sets[argument.key] = .timestamp(Timestamp(seconds: seconds, increment: UInt32(clock.counter)))
            } else {
                sets[argument.key] = .date(clock.milliseconds)
            }
        }
        operators["$currentDate"] = nil
        operators["$set"] = .document(sets)
        var operation = self
        operation.kind = .update(operators: operators, arrayFilters: arrayFilters)
        return operation
    }
}
