/**
 * Texts that are embedded again and again: when their vectors move, another model answers. They are fixed, since the
 * vectors of an installation are compared over years, and of several languages, lengths and kinds, since a change may
 * touch one kind only.
 */
export const canaryTexts: readonly string[] = [
  'How do I reset my password?',
  'refund policy',
  'The invoice was paid twice in March 2024.',
  'Which documents do I need to open an account for a company?',
  'What is the maximum file size of an upload?',
  'error 0x80070057 the parameter is incorrect',
  'Wie kündige ich meinen Vertrag?',
  'Où puis-je trouver ma facture ?',
  '¿Cuánto tarda el envío a Canarias?',
  '配送状況を確認するにはどうすればよいですか',
  'как изменить адрес доставки',
  'SELECT count(*) FROM orders WHERE status = 7;',
  'vacation days part time employee',
  'Compare the premium plan with the basic plan and list the differences in price, storage and support.',
  'yes',
  'photosynthesis in desert plants',
  'When was the treaty signed, and by whom?',
  'https://example.com/docs/api#limits',
  'My parcel arrived damaged, two of the six glasses are broken and the box is wet. What should I do now?',
  'Newton\u2019s second law of motion',
];
