import { useState } from 'react'
import { ChoiceButtons } from '#parts/choice-buttons.tsx'
import { chooseDensity, chosenDensity, DENSITIES } from '#parts/density.ts'
import { profileTexts } from '#texts/profile.ts'

export function DensityChoice() {
  const [chosen, setChosen] = useState(chosenDensity)
  return (
    <ChoiceButtons
      label={profileTexts.density()}
      hint={profileTexts.densityHint()}
      options={DENSITIES.map((value) => ({ value, text: profileTexts[value]() }))}
      value={chosen}
      onChange={(density) => {
        chooseDensity(density)
        setChosen(density)
      }}
    />
  )
}
