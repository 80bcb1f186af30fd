/** What variants are compared by; all of them are shares or scores in [0, 1], and more is better. */
export const variantMeasures = ['positive_feedback', 'clicked_queries', 'relevance'] as const;

export type VariantMeasure = (typeof variantMeasures)[number];
