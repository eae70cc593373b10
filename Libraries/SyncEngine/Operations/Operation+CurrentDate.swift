import DocumentModel

extension Operation {
    /// The operation with `$currentDate` replaced by `$set`: the time of a device's write is when the device makes it, so it is the
    /// same on the device before the upload and on the server after it.
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
