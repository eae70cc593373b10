/// "Did you mean …?"
enum Suggestion {
    /// ` (did you mean X?)` when one of the candidates is similar; otherwise empty.
    static func text(for word: String, among candidates: [String]) -> String {
        let nearest = candidates.map { ($0, distance(word, $0)) }.min { $0.1 < $1.1 }
        guard let nearest, nearest.1 <= max(2, word.count / 3) else { return "" }
        return " (did you mean \(nearest.0)?)"
    }

    /// The Levenshtein distance.
    private static func distance(_ a: String, _ b: String) -> Int {
        let b = Array(b)
        var row = Array(0...b.count)
        for (i, x) in a.enumerated() {
            var diagonal = row[0]
            row[0] = i + 1
            for (j, y) in b.enumerated() {
                let replaced = diagonal + (x == y ? 0 : 1)
                diagonal = row[j + 1]
                row[j + 1] = min(replaced, row[j] + 1, diagonal + 1)
            }
        }
        return row[b.count]
    }
}
