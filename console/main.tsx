import './styles/index.css'
import { StrictMode } from 'react'
import { createRoot } from 'react-dom/client'
import { App } from './app.tsx'
import { applyTheme, currentSettings } from './settings.ts'
import { loadLanguage } from './texts/loaded.ts'

applyTheme()
await loadLanguage(currentSettings().language)
const root = document.getElementById('root')
if (root !== null)
  createRoot(root).render(
    <StrictMode>
      <App />
    </StrictMode>,
  )
