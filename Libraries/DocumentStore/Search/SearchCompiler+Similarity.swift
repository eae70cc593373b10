import DocumentModel
import Foundation
import QueryLanguage

extension SearchCompiler {
    /// The most documents of `like`.
    private static let mostExamples = 10
    /// The most words that are taken from each of them.
    private static let mostWords = 25

    /// `moreLikeThis`: documents that have words of the given ones at the same paths. The more of the words a document has, and the
    /// more these say, the higher is its score.
    ///
    /// How much a word says is the root of its frequency in the given document, times its length: how rare it is in the collection
    /// isn't counted, since that would tell of documents that the user may not read, and long words are rarer than short ones.
    mutating func moreLikeThis(_ options: Document) throws(DocumentStoreError) -> Part {
        let examples = options["like"].map { $0.arrayValue ?? [$0] } ?? []
        guard !examples.isEmpty, examples.allSatisfy({ $0.documentValue != nil }) else {
            throw SearchError.wrong("\"moreLikeThis.like\" is required, a document or a list of them")
        }
        guard examples.count <= Self.mostExamples else {
            throw SearchError.wrong("\"moreLikeThis.like\" has more than \(Self.mostExamples) documents")
        }
        var weights: [Place: Double] = [:]
        for example in examples {
            var counts: [Place: Double] = [:]
            for (path, text) in SearchHighlights.texts(example, at: "") where !path.utf8.contains(0) {
                for word in Self.words(text) where !word.utf8.contains(0) {
                    counts[Place(path: path, word: SearchHighlights.folded(word)), default: 0] += 1
                }
            }
            let weighed = counts.map { (place: $0.key, weight: $0.value.squareRoot() * Double($0.key.word.count)) }
            for (place, weight) in weighed.sorted(by: Self.saysMore).prefix(Self.mostWords) {
                weights[place, default: 0] += weight
            }
        }
        let words = weights.map { (place: $0.key, weight: $0.value) }.sorted(by: Self.saysMore)
        return try similar(to: words)
    }

    private struct Place: Hashable {
        @ExactText var path: String
        @ExactText var word: String
    }

    private static func saysMore(_ a: (place: Place, weight: Double), _ b: (place: Place, weight: Double)) -> Bool {
        if a.weight != b.weight { return a.weight > b.weight }
        return (ExactText(a.place.path), ExactText(a.place.word)) < (ExactText(b.place.path), ExactText(b.place.word))
    }

    private mutating func similar(to words: [(place: Place, weight: Double)]) throws(DocumentStoreError) -> Part {
        if words.isEmpty { return .none }
        let all = words.reduce(0) { $0 + $1.weight }
        var scores: [String] = []
        var rest = words
        while let name = rest.first?.place.path {
            let path = try path(.string(name), of: "moreLikeThis")
            var sums: [String] = []
            for (place, weight) in rest where place.path.hasSameBytes(as: name) {
                terms.insert(Term(word: place.word))
                sums.append("case when v.words @@ \(word(place.word)) then \(weight / all) else 0 end")
            }
            rest.removeAll { $0.place.path.hasSameBytes(as: name) }
            // With an offset, the words of a document are computed once, not for each term.
            scores.append(
                "(select (\(sums.joined(separator: " + ")))::float8 "
                    + "from (select \(path.vector) as words offset 0) v)")
        }
        return Part(
            condition: "(\(scores.map { "\($0) > 0" }.joined(separator: " or ")))",
            score: "(\(scores.joined(separator: " + ")))")
    }
}
