import DocumentModel

/// A position in the source of one of an app's functions.
struct SourcePlace {
    let function: String
    let line: Int

    /// The innermost frame of a stack that is in one of the app's sources; `nil` when there is none.
    /// - Parameter stack: the stack in JavaScriptCore's format, a line for each frame: `name@source:line:column`.
    init?(stack: String, sources: Set<ExactText>) {
        for frame in stack.split(separator: "\n") {
            let place = frame.split(separator: "@").last?.split(separator: ":") ?? []
            guard place.count == 3, sources.contains(String(place[0])), let line = Int(place[1]) else { continue }
            function = String(place[0])
            self.line = line
            return
        }
        return nil
    }
}
