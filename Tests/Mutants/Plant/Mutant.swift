/// A mistake that is planted in the code that ships, to see that the simulation finds it.
struct Mutant {
    struct Misplaced: Error, CustomStringConvertible { let description: String }

    private enum Change {
        /// The text is an expression, and is replaced by another one.
        case becomes(String)
        /// The text is made of whole statements, and they are left out.
        case omitted
    }

    /// Identifies it, and says what is wrong.
    let name: String
    /// The module that has it, whose simulation has to find it.
    let module: String
    /// The file.
    let file: String
    private let text: String
    /// What stands in the file exactly once, and contains the text exactly once.
    private let context: String
    private let change: Change

    /// - Parameter file: The file, below the module's folder.
    init(
        _ name: String, of module: String = "SyncEngine", _ file: String, _ text: String, in context: String? = nil,
        becomes replacement: String
    ) {
        self.name = name
        self.module = module
        self.file = "Libraries/\(module)/\(file)"
        self.text = text
        self.context = context ?? text
        change = .becomes(replacement)
    }

    init(
        _ name: String, of module: String = "SyncEngine", _ file: String, omits text: String, in context: String? = nil
    ) {
        self.name = name
        self.module = module
        self.file = "Libraries/\(module)/\(file)"
        self.text = text
        self.context = context ?? text
        change = .omitted
    }

    /// Its place in a file.
    func place(in source: String) throws(Misplaced) -> Range<String.Index> {
        try only(text, in: source[only(context, in: source[...])])
    }

    /// What stands in its place: a process decides by the number whether it makes the mistake or does `other`.
    func planted(number: Int, beside other: String) -> String {
        switch change {
        case .becomes(let replacement): "(isPlanted(\(number)) ? (\(replacement)) : (\(other)))"
        case .omitted: "if !isPlanted(\(number)) { \(other) }"
        }
    }

    private func only(_ text: String, in source: Substring) throws(Misplaced) -> Range<String.Index> {
        let places = source.ranges(of: text)
        if places.count == 1 { return places[0] }
        throw Misplaced(description: "\(name): this is in \(file) \(places.count) times, not once: \(text)")
    }
}
